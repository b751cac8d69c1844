package opener

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// machine is a machine with some files, programs on PATH and variables.
func machine(os string, files, path []string, env map[string]string) system {
	return system{
		OS: os, Getenv: func(name string) string { return env[name] },
		IsFile: func(name string) bool { return slices.Contains(files, name) },
		LookPath: func(name string) (string, error) {
			if slices.Contains(path, name) {
				return "/path/" + name, nil
			}
			return "", errors.New("not found")
		},
	}
}

var screen = Screen{Link: "http://127.0.0.1:20900/#key=abcd1234&screen=3", Key: "abcd1234", Port: 20903}

// S0-56, S0-226, S0-229, S0-230, S0-232, S0-233, S0-235 and issue 10, item 1: what is run on
// each system.
func TestWays(t *testing.T) {
	display := map[string]string{"DISPLAY": ":0"}
	programs := map[string]string{"ProgramFiles": `C:\Program Files`, "ProgramFiles(x86)": `C:\Program Files (x86)`}
	const tiger = `C:\Program Files\TigerVNC\vncviewer.exe`
	for _, test := range []struct {
		name   string
		system system
		mode   Mode
		viewer string
		want   string // mode and command; FILE and ADDRESS stand for what changes
		why    string
	}{
		{"linux browser", machine("linux", nil, nil, display), Browser, "", "browser xdg-open ADDRESS", ""},
		{"linux wayland", machine("linux", nil, nil, map[string]string{"WAYLAND_DISPLAY": "w"}), Browser, "", "browser xdg-open ADDRESS", ""},
		{"linux without a display", machine("linux", nil, nil, nil), Browser, "", "none", "no display"},
		{"linux without a display, vnc", machine("linux", nil, []string{"vncviewer"}, nil), VNC, "", "none", "no display"},
		{"linux vnc", machine("linux", nil, []string{"vncviewer"}, display), VNC, "", "vnc /path/vncviewer -passwd FILE 127.0.0.1::20903", ""},
		{"linux vnc, TigerVNC first", machine("linux", nil, []string{"vncviewer", "xtigervncviewer"}, display), VNC, "", "vnc /path/xtigervncviewer -passwd FILE 127.0.0.1::20903", ""},
		{"linux vnc without a viewer", machine("linux", nil, nil, display), VNC, "", "browser xdg-open ADDRESS", "No VNC program"},
		{"linux vnc by path", machine("linux", []string{"/opt/v"}, nil, display), VNC, "/opt/v", "vnc /opt/v -passwd FILE 127.0.0.1::20903", ""},
		{"linux none", machine("linux", nil, nil, display), None, "", "none", ""},
		{"macOS browser", machine("darwin", nil, nil, nil), Browser, "", "browser /usr/bin/open ADDRESS", ""},
		// S0-176
		{"macOS vnc", machine("darwin", nil, nil, nil), VNC, "", "vnc /usr/bin/open vnc://:abcd1234@127.0.0.1:20903", ""},
		{"macOS none", machine("darwin", nil, nil, nil), None, "", "none", ""},
		{"windows browser", machine("windows", nil, nil, nil), Browser, "", "browser rundll32.exe url.dll,FileProtocolHandler ADDRESS", ""},
		{"windows vnc by path", machine("windows", []string{`D:\my vnc.exe`, tiger}, []string{"vncviewer.exe"}, programs), VNC, `D:\my vnc.exe`, `vnc D:\my vnc.exe -PasswordFile FILE 127.0.0.1::20903`, ""},
		{"windows vnc by a wrong path", machine("windows", nil, []string{"vncviewer.exe"}, programs), VNC, `D:\none.exe`, "vnc /path/vncviewer.exe -PasswordFile FILE 127.0.0.1::20903", `none.exe" is not a file`},
		{"windows vnc in Program Files", machine("windows", []string{tiger}, nil, programs), VNC, "", "vnc " + tiger + " -PasswordFile FILE 127.0.0.1::20903", ""},
		{"windows vnc without a viewer", machine("windows", nil, nil, programs), VNC, "", "browser rundll32.exe url.dll,FileProtocolHandler ADDRESS", "No VNC program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var log bytes.Buffer
			var started []command
			o := newOpener(test.system, func(c command) error {
				started = append(started, c)
				return nil
			}, slog.New(slog.NewTextHandler(&log, nil)))
			defer o.Close()
			way := o.Way(test.mode, test.viewer)
			o.Open(way, screen)
			got := []string{string(way.Mode)}
			for _, c := range started {
				got = append(got, c.Program)
				for _, arg := range c.Args {
					switch {
					case strings.HasPrefix(arg, "http://"):
						arg = "ADDRESS"
					case filepath.IsAbs(arg) && strings.HasSuffix(arg, ".vnc"):
						arg = "FILE"
					}
					got = append(got, arg)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%q, want %q", strings.Join(got, " "), test.want)
			}
			if said := log.String(); test.why == "" && said != "" || !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), test.why) {
				t.Errorf("the log says %q, want %q", said, test.why)
			}
		})
	}
}

// The key is on no command line of a browser or VNC program, and the address that is
// there instead works once.
func TestTheKeyIsNotOnACommandLine(t *testing.T) {
	var address string
	o := newOpener(machine("linux", nil, nil, map[string]string{"DISPLAY": ":0"}), func(c command) error {
		address = c.Args[0]
		return nil
	}, slog.New(slog.DiscardHandler))
	defer o.Close()
	o.Open(o.Way(Browser, ""), screen)
	if strings.Contains(address, screen.Key) {
		t.Fatalf("the command line has %s", address)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	visit := func(address string) (status int, location string) {
		resp, err := client.Get(address)
		if err != nil {
			return 0, ""
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Location")
	}
	if status, _ := visit(address + "x"); status != http.StatusNotFound {
		t.Errorf("a guess is answered with %d", status)
	}
	if status, location := visit(address); status != http.StatusSeeOther || location != screen.Link {
		t.Errorf("%d to %q", status, location)
	}
	if status, location := visit(address); status == http.StatusSeeOther || location != "" {
		t.Errorf("the second visit got %d to %q", status, location)
	}
}

// S0-231: the password file is this user's alone and goes away, after 15 s or with the
// server.
func TestPasswordFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var file string
			o := newOpener(machine("linux", nil, []string{"vncviewer"}, map[string]string{"DISPLAY": ":0"}), func(c command) error {
				file = c.Args[1]
				return nil
			}, slog.New(slog.DiscardHandler))
			o.Open(o.Way(VNC, ""), Screen{Key: "password", Port: 1})
			info, err := os.Stat(file)
			if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Fatalf("%v, %v", info, err)
			}
			// What other programs make of this password.
			if data, err := os.ReadFile(file); err != nil || hex.EncodeToString(data) != "dbd83cfd727a1458" {
				t.Errorf("the file holds %x, %v", data, err)
			}
			if early {
				o.Close()
			} else {
				defer o.Close()
				synctest.Wait()
				time.Sleep(passwordTime) // virtual
				synctest.Wait()
			}
			if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}

// S0-234: trouble is a line in the log.
func TestAProgramThatIsNotThere(t *testing.T) {
	var log bytes.Buffer
	o := newOpener(machine("linux", nil, nil, map[string]string{"DISPLAY": ":0"}), func(command) error { return errors.New("no xdg-open") }, slog.New(slog.NewTextHandler(&log, nil)))
	o.Open(o.Way(Browser, ""), screen)
	o.Close()
	if !strings.Contains(log.String(), "no xdg-open") {
		t.Errorf("the log says %q", log.String())
	}
	if strings.Contains(log.String(), screen.Key) {
		t.Error("the key is in the log")
	}
}
