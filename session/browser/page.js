// Runs in every document, in a world of its own: the page sees nothing of it. It tells when
// the tab comes to the front of its window.
if (window.top === window) {
  const tell = () => tellComputer(document.visibilityState);
  document.addEventListener("visibilitychange", tell);
  tell();
}
