package input

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// A path that is typed into GTK's file dialogs arrives whole, though they make the field
// for it on its first key, and the Enter behind it is taken, in the same text and by itself.
func TestTypeInFileDialogs(t *testing.T) {
	xvfbtest.Need(t, "zenity", "xdotool")
	enter, err := ParseKey("enter")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options []string
		path    bool   // the whole path is typed and not the name alone
		end     string // of the text
	}{
		"open":           {nil, true, "\n"},
		"save":           {[]string{"--save"}, false, "\n"},
		"save, then key": {[]string{"--save"}, false, ""},
		"save, path":     {[]string{"--save"}, true, "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			d, s := openDevice(t, "us")
			dir := t.TempDir()
			want := filepath.Join(dir, "new name.txt")
			text := want
			if !c.path {
				text = filepath.Base(want)
			}
			cmd := s.Command("zenity", append([]string{"--file-selection", "--title", "choose"}, c.options...)...)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "GTK_IM_MODULE=gtk-im-context-simple", "GDK_BACKEND=x11", "HOME="+dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if c.options == nil {
				if err := os.WriteFile(want, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			start(t, cmd)
			chosen := make(chan string, 1)
			go func() {
				path, _ := io.ReadAll(out)
				chosen <- strings.TrimSuffix(string(path), "\n")
			}()
			focus(t, s, "choose")
			if err := d.waitTaken(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			h := d.NewHolder()
			if err := h.Type(t.Context(), text+c.end); err != nil {
				t.Fatal(err)
			}
			if c.end == "" {
				if err := h.Chord(t.Context(), enter, 0); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case got := <-chosen:
				if got != want {
					t.Errorf("chose %q, want %q", got, want)
				}
			case <-time.After(patience):
				t.Errorf("the dialogue did not end on %q", text)
			}
		})
	}
}
