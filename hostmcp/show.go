package hostmcp

import (
	"context"
	"net/url"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/hostmcp/opener"
)

// Opener shows screens to the person at this machine. [opener.Opener] is one.
type Opener interface {
	Way(mode opener.Mode, viewer string) opener.Way
	// Open returns at once; what goes wrong is its own business.
	Open(opener.Way, opener.Screen)
}

// showScreen makes the session's screen be shown when it opens, in the way that the
// settings say now. It returns at once: no call waits for a person's programs.
func (s *Server) showScreen(computer *client.Client, session string) {
	if s.cfg.Opener == nil {
		return
	}
	mode, _ := s.settings.Get(settingOpen) // startRequest has read both
	program, _ := s.settings.Get(settingVNCViewer)
	if program == "auto" {
		program = ""
	}
	way := s.cfg.Opener.Way(opener.Mode(mode), program)
	if way.Mode == opener.None {
		return
	}
	s.running.Go(func() {
		if err := s.show(s.calls, computer, session, way); err != nil {
			s.log.Debug("show the screen", "error", err) // the session has ended, most likely
		}
	})
}

// show waits until the session has a screen, and shows it.
func (s *Server) show(ctx context.Context, computer *client.Client, session string, way opener.Way) error {
	where, err := computer.Show(ctx, session, api.ShowRequest{Page: way.Mode == opener.Browser})
	if err == nil && where.VNCPort == 0 && way.Mode == opener.VNC {
		s.log.Warn("no port is open for VNC programs, so the browser opens")
		way = s.cfg.Opener.Way(opener.Browser, "")
		where, err = computer.Show(ctx, session, api.ShowRequest{Page: true})
	}
	if err == nil && where.Viewer != "" && !where.Shown {
		s.cfg.Opener.Open(way, opener.Screen{Link: where.Viewer, Key: keyOf(where.Viewer), Port: where.VNCPort})
	}
	return err
}

// keyOf returns the key in a viewer link.
func keyOf(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	values, _ := url.ParseQuery(fragment)
	return values.Get("key")
}
