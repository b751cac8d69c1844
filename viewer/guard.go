package viewer

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// protect sets the headers of every answer. They keep what we serve out of other pages,
// and keep everything but our own files out of ours.
func (s *Server) protect(h http.Header, r *http.Request) {
	policy := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'",
		// noVNC draws JPEG rectangles and cursors from data URLs, the grid from blobs.
		"img-src 'self' data: blob:",
		// Not every browser takes 'self' for a WebSocket. The host is checked already.
		"connect-src 'self' ws://" + r.Host,
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		// Nothing here makes markup or code of strings.
		"require-trusted-types-for 'script'", "trusted-types 'none'",
	}
	if s.checkHost(r) != "" {
		policy = []string{"default-src 'none'", "frame-ancestors 'none'"}
	}
	h.Set("Content-Security-Policy", strings.Join(policy, "; "))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "clipboard-read=(self), clipboard-write=(self), fullscreen=(self), camera=(), microphone=(), geolocation=()")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// checkHost refuses a request for another name than loopback's, which comes from a page
// whose name was pointed here, and for another port, which was meant for another server.
// It returns a sentence for whoever sent it, empty when all is well.
func (s *Server) checkHost(r *http.Request) (refusal string) {
	if port, ok := api.LoopbackHost(r.Host); ok && port == strconv.Itoa(s.cfg.Port) {
		return ""
	}
	return fmt.Sprintf("Requests for the host %.100q are refused. Open http://127.0.0.1:%d/ instead.", r.Host, s.cfg.Port)
}

// checkOrigin refuses what another page has sent. Old browsers and other programs send
// no Sec-Fetch headers; every browser sends the Origin of a WebSocket. It returns a sentence,
// empty when all is well.
func (s *Server) checkOrigin(r *http.Request, a access) (refusal string) {
	const foreign = "Requests from other pages are refused."
	origin := r.Header.Get("Origin")
	if origin != "" && origin != "http://"+r.Host || origin == "" && a == socket {
		return foreign
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return ""
	}
	if a == link && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return "" // a link on another page
	}
	return foreign
}
