package hostmcp

import (
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/opener"
)

// fakeOpener notes what it is asked to open.
type fakeOpener struct {
	ways   chan string // the mode asked for and the program
	opened chan opener.Screen
	way    opener.Way // for mode vnc
}

func newFakeOpener(way opener.Way) *fakeOpener {
	return &fakeOpener{make(chan string, 8), make(chan opener.Screen, 8), way}
}

func (f *fakeOpener) Way(mode opener.Mode, viewer string) opener.Way {
	f.ways <- string(mode) + " " + viewer
	if mode == opener.VNC {
		return f.way
	}
	return opener.Way{Mode: mode}
}

func (f *fakeOpener) Open(_ opener.Way, s opener.Screen) { f.opened <- s }

// S0-225, S0-226, S0-233, S0-234 and S0-55: whether and how a session's screen is shown,
// by what the daemon answers.
func TestScreensAreShown(t *testing.T) {
	const link = "http://127.0.0.1:20900/#key=abcd1234&screen=3"
	vnc := opener.Way{Mode: opener.VNC, Program: "viewer"}
	for _, test := range []struct {
		name string
		env  map[string]string
		show func(api.ShowRequest) api.ShowResult
		ways []string // asked for, in order
		want *opener.Screen
	}{
		{
			"no page is open", nil,
			func(r api.ShowRequest) api.ShowResult { return api.ShowResult{Screen: 3, Viewer: link, VNCPort: 20903} },
			[]string{"browser "},
			&opener.Screen{Link: link, Key: "abcd1234", Port: 20903},
		},
		{
			"a page is open", nil,
			func(r api.ShowRequest) api.ShowResult { return api.ShowResult{Screen: 3, Viewer: link, Shown: r.Page} },
			[]string{"browser "},
			nil,
		},
		{
			"no page is served", nil,
			func(r api.ShowRequest) api.ShowResult { return api.ShowResult{Screen: 3} },
			[]string{"browser "},
			nil,
		},
		{
			"a VNC program",
			map[string]string{settingOpen: "vnc", settingVNCViewer: "/opt/v"},
			func(r api.ShowRequest) api.ShowResult {
				return api.ShowResult{Screen: 3, Viewer: link, VNCPort: 20903, Shown: r.Page}
			},
			[]string{"vnc /opt/v"},
			&opener.Screen{Link: link, Key: "abcd1234", Port: 20903},
		},
		{
			"VNC programs are switched off",
			map[string]string{settingOpen: "vnc"},
			func(r api.ShowRequest) api.ShowResult { return api.ShowResult{Screen: 3, Viewer: link, Shown: false} },
			[]string{"vnc ", "browser "},
			&opener.Screen{Link: link, Key: "abcd1234"},
		},
		{"nothing", map[string]string{settingOpen: "none"}, nil, []string{"none "}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeComputer(t)
			f.onShow = test.show
			fake := newFakeOpener(vnc)
			s := newServer(f, test.env)
			s.cfg.Opener = fake
			c := connect(t, s, "", nil)
			if text, _, failed := call(t, c, "start_computer", map[string]any{"title": "t"}); failed {
				t.Fatal(text)
			}
			for _, want := range test.ways {
				if got := <-fake.ways; got != want {
					t.Errorf("asked for the way %q, want %q", got, want)
				}
			}
			if test.want != nil {
				if got := <-fake.opened; got != *test.want {
					t.Errorf("opened %+v, want %+v", got, *test.want)
				}
			}
			c.Close()
			s.running.Wait()
			if len(fake.opened) > 0 {
				t.Errorf("opened %+v too", <-fake.opened)
			}
		})
	}
}

// S0-234: start_computer answers though the daemon has no answer for the opener yet, and
// the end of the server ends the question.
func TestNoCallWaitsForTheOpener(t *testing.T) {
	f := newFakeComputer(t)
	asked := make(chan struct{})
	never := make(chan struct{})
	f.onShow = func(api.ShowRequest) api.ShowResult {
		close(asked)
		<-never
		return api.ShowResult{}
	}
	t.Cleanup(func() { close(never) })
	fake := newFakeOpener(opener.Way{})
	s := newServer(f, nil)
	s.cfg.Opener = fake
	c := connect(t, s, "", nil)
	if text, _, failed := call(t, c, "start_computer", map[string]any{"title": "t"}); failed {
		t.Fatal(text)
	}
	<-asked
	c.Close()
	s.running.Wait()
	if len(fake.opened) > 0 {
		t.Error("something was opened")
	}
}
