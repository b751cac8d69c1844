package viewer

import "time"

// openTime is how long a browser may take from its start to the page.
const openTime = 20 * time.Second

// Show brings a screen before the person: it sends the page that was used last there,
// unless the person works another screen on it, and reports true. Without a page it
// reports false once: the caller opens one, and until that is there, further screens
// report true. A page that has vanished counts until its connection is found dead.
func (s *Server) Show(screen int) (shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last *page
	for _, p := range s.pages {
		if last == nil || p.heard.Load() > last.heard.Load() {
			last = p
		}
	}
	if last != nil {
		last.send(message{Type: msgShow, Screen: screen})
		return true
	}
	now := time.Now()
	if now.Before(s.awaited) {
		return true
	}
	s.awaited = now.Add(openTime)
	return false
}
