// How times and states are said.

// since says how long ago a moment was: "now", "12 s", "3 min", "2 h", "4 d".
export function since(at, now) {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

// ago is since as a part of a sentence.
export function ago(at, now) {
  const time = since(at, now);
  return time === "now" ? "just now" : `${time} ago`;
}

// clock says a time of day, with the date when it was not today.
export function clock(at, now) {
  const today = at.toDateString() === now.toDateString();
  const day = today ? {} : { month: "short", day: "numeric" };
  return at.toLocaleString([], { hour: "numeric", minute: "2-digit", ...day });
}

export const viewers = (n) => (n === 1 ? "1 viewer" : `${n || "no"} viewers`);

// control says who works a screen.
export function control(session, mine) {
  if (mine) return "You have control";
  if (session.control.by === "human") return `${session.control.name || "Somebody"} has control`;
  if (session.control.by === "agent") return "Agent has control";
  return "Nobody has control";
}

// lastAction says what the agent did last and how long ago.
export function lastAction(session, now) {
  if (!session.last_action) return "Nothing done yet";
  return `Last: ${session.last_action}, ${ago(new Date(session.last_action_at), now)}`;
}

// condition says what is unusual about a session; empty when nothing is.
export function condition(session) {
  if (session.state === "ended") return "Session ended";
  if (session.state === "restarting") return "The screen is starting again";
  return "";
}
