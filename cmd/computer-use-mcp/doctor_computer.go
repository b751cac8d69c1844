package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the formats of pictures
	_ "image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/local"
)

const (
	tidyTimeout = 15 * time.Second
	// leastShared is how much shared memory browsers need in bytes.
	leastShared = 512 << 20
	// doctorFile is the size of the file that is sent both ways, in bytes.
	doctorFile = 1 << 20
)

// examination is the part of a diagnosis that uses a computer, by the tools that agents
// use, in sessions of its own.
type examination struct {
	*diagnosis
	engine   engine.Engine
	client   *ownClient
	sessions []string // that are open, the first one for all but --full
	viewer   string   // link with key
	folder   string   // on the computer, for what the checks write
}

func (a *app) diagnoseComputer(ctx context.Context, d *diagnosis, e engine.Engine, full bool) {
	before, err := e.Status(ctx)
	if err != nil {
		d.judge("computer", err, "")
		return
	}
	client, err := a.connect(ctx, "computer-use-mcp-doctor", e)
	if err != nil {
		d.judge("computer", err, "")
		return
	}
	x := &examination{diagnosis: d, engine: e, client: client}
	if x.begin(ctx, before.State) && x.look(ctx) {
		x.limits(ctx)
		if x.makeFolder(ctx) {
			x.typeLine(ctx)
			x.sendFile(ctx)
		}
		x.watch(ctx)
		if full {
			x.openAll(ctx)
		}
	}
	x.tidy(context.WithoutCancel(ctx), before.State)
}

// begin opens a session, which starts a computer that does not run.
func (x *examination) begin(ctx context.Context, before engine.State) bool {
	start := time.Now()
	facts, err := x.open(ctx, "doctor")
	how := fmt.Sprintf("runs, session opened in %d ms", time.Since(start).Milliseconds())
	if before != engine.StateRunning {
		how = fmt.Sprintf("was %s, started in %.1f s", before, time.Since(start).Seconds())
		if x.engine.Name() == "docker" {
			how += "; it keeps running until you stop it"
		}
	}
	x.viewer = facts.Viewer
	return x.judge("computer", err, "%s", strings.Join(append([]string{how}, facts.Notes...), ". "))
}

func (x *examination) open(ctx context.Context, title string) (facts api.StartResult, err error) {
	_, err = x.client.facts(ctx, "start_computer", map[string]any{"title": title}, &facts)
	if err == nil {
		x.sessions = append(x.sessions, facts.Session)
	}
	return facts, err
}

// use calls a tool in the first session.
func (x *examination) use(ctx context.Context, tool string, args map[string]any, v any) error {
	args["session"] = x.sessions[0]
	_, err := x.client.facts(ctx, tool, args, v)
	return err
}

// frame takes a picture of a session's screen and checks that it is one.
func (x *examination) frame(ctx context.Context, session string) (words string, err error) {
	start := time.Now()
	var seen api.Observation
	result, err := x.client.facts(ctx, "computer_observe", map[string]any{"session": session, "force": true}, &seen)
	if err != nil {
		return "", err
	}
	p := picture(result)
	if p == nil {
		return "", ill("computer_observe answered without a picture.")
	}
	decoded, format, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		return "", ill("The picture of the screen cannot be decoded: %v.", err)
	}
	if size := decoded.Bounds().Size(); size.X != seen.Image.Width || size.Y != seen.Image.Height {
		return "", ill("The picture of the screen is %v, but said to be %dx%d.", size, seen.Image.Width, seen.Image.Height)
	}
	return fmt.Sprintf("a frame of %dx%d pixels in %d ms (%s, %d KiB)",
		seen.Frame.Width, seen.Frame.Height, time.Since(start).Milliseconds(), format, (len(p.Data)+1023)/1024), nil
}

// ill is a fault that only the log can explain.
func ill(format string, args ...any) error {
	return api.Errorf(api.CodeInternal, format, args...).
		WithFix("See `computer-use-mcp logs`, and report it with the output of `computer-use-mcp doctor --json`.")
}

func (x *examination) look(ctx context.Context) bool {
	words, err := x.frame(ctx, x.sessions[0])
	return x.judge("screen", err, "%s", words)
}

// shell runs a command in the first session and returns what it wrote.
func (x *examination) shell(ctx context.Context, command string) (string, error) {
	var ran api.ShellResult
	if err := x.use(ctx, "shell", map[string]any{"command": command}, &ran); err != nil {
		return "", err
	}
	if ran.ExitCode == nil || *ran.ExitCode != 0 {
		return "", ill("The command %q failed on the computer: %s", command, strings.TrimSpace(ran.Stderr))
	}
	return strings.TrimSpace(ran.Stdout), nil
}

// limits looks at what programs on the computer can use up.
func (x *examination) limits(ctx context.Context) {
	out, err := x.shell(ctx, "df -Pk /dev/shm ~ | awk 'NR > 1 {print $4}'; awk '/^Seccomp:/ {print $2}' /proc/self/status")
	fields := strings.Fields(out)
	if err == nil && len(fields) != 3 {
		err = ill("The computer describes itself in words that are not understood: %.100q.", out)
	}
	if err != nil {
		x.judge("limits", err, "")
		return
	}
	shared, _ := strconv.ParseUint(fields[0], 10, 64) // df prints numbers
	disk, _ := strconv.ParseUint(fields[1], 10, 64)
	words := fmt.Sprintf("%d MiB are free, for browsers", shared>>10)
	if shared<<10 < leastShared {
		err = api.Errorf(api.CodeInternal, "Only %d MiB of shared memory are free: pages in a browser will crash.", shared>>10).
			WithFix("Close browsers on other screens; give a container that was made by hand --shm-size 2g.")
	}
	x.judge("shared mem", err, "%s", words)
	err = nil
	if disk<<10 < leastDisk {
		err = api.Errorf(api.CodeInternal, "Only %d MiB are free in the computer's home.", disk>>10).WithFix("Remove files there, or make room on its disk.")
	}
	x.judge("home", err, "%.1f GB are free in the computer's home", float64(disk)*1024/1e9)
	filter := "no filter of system calls beyond the sandbox"
	if fields[2] == "2" {
		filter = "system calls of programs are filtered (seccomp)"
	}
	x.pass("programs", "%s", filter)
}

// leastDisk is how much room the computer's home should have in bytes.
const leastDisk = 1 << 30

func (x *examination) makeFolder(ctx context.Context) bool {
	folder, err := x.shell(ctx, "mktemp -d")
	x.folder = folder
	return err == nil || x.judge("shell", err, "")
}

// typeLine types letters that no keyboard layout has together into a program that
// writes down what it reads. It is no shell, which would remember the line.
func (x *examination) typeLine(ctx context.Context) {
	const title = "computer-use-mcp doctor"
	file := x.folder + "/typed"
	program := fmt.Sprintf(`t=$(command -v xterm || command -v x-terminal-emulator) && exec "$t" -T '%s' -e sh -c 'IFS= read -r line; printf %%s "$line" > %s.part; mv %[2]s.part %[2]s'`, title, file)
	start := time.Now()
	steps := []struct {
		tool string
		args map[string]any
	}{
		{"shell", map[string]any{"command": program, "background": true}},
		{"computer_wait", map[string]any{"for": "window", "title": title, "timeout_ms": 10000}},
		{"computer_act", map[string]any{"actions": []any{
			map[string]any{"kind": "focus", "application": title}, map[string]any{"kind": "type", "text": tryText + "\n"},
		}}},
		{"computer_wait", map[string]any{"for": "file", "path": file, "timeout_ms": 10000}},
	}
	var err error
	for _, step := range steps {
		var answer struct{ Met *bool }
		if err = x.use(ctx, step.tool, step.args, &answer); err == nil && answer.Met != nil && !*answer.Met {
			err = ill("The %s in which a line is typed did not come (%s).", step.args["for"], program)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		var got string
		if got, err = x.shell(ctx, "cat "+file); err == nil && got != tryText {
			err = ill("The line that was typed arrived as %q.", got)
		}
	}
	x.judge("keyboard", err, "a line of %d letters in %d scripts arrived as typed, in %d ms", len([]rune(tryText)), strings.Count(tryText, "·")+1, time.Since(start).Milliseconds())
}

// sendFile copies a file to the computer and back.
func (x *examination) sendFile(ctx context.Context) {
	start := time.Now()
	err := x.sendBothWays(ctx)
	x.judge("files", err, "%d KiB to the computer and back in %d ms, unchanged", doctorFile>>10, time.Since(start).Milliseconds())
}

func (x *examination) sendBothWays(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "computer-use-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sent := make([]byte, doctorFile)
	_, _ = rand.Read(sent) // it never fails
	there, back := filepath.Join(dir, "there"), filepath.Join(dir, "back")
	if err := os.WriteFile(there, sent, 0o600); err != nil {
		return err
	}
	for _, args := range []map[string]any{
		{"direction": "to_computer", "host_path": there, "computer_path": x.folder + "/file"},
		{"direction": "from_computer", "host_path": back, "computer_path": x.folder + "/file"},
	} {
		if err := x.use(ctx, "file_transfer", args, &struct{}{}); err != nil {
			return err
		}
	}
	got, err := os.ReadFile(back)
	if err == nil && !bytes.Equal(got, sent) {
		err = ill("A file came back changed: %d bytes of %d.", len(got), len(sent))
	}
	return err
}

// openAll opens every screen that is free, each in a session of its own.
func (x *examination) openAll(ctx context.Context) {
	start := time.Now()
	taken := len(x.screens(ctx)) - 1 // of others
	err := error(nil)
	frames := 1
	for frames+taken < api.MaxScreens && err == nil {
		var facts api.StartResult
		if facts, err = x.open(ctx, fmt.Sprintf("doctor %d", frames+1)); err == nil {
			_, err = x.frame(ctx, facts.Session)
		}
		if e := api.AsError(err); err != nil && e.Code == api.CodeNoFreeScreen {
			taken, err = api.MaxScreens-frames, nil // somebody was faster
			break
		}
		if err == nil {
			frames++
		}
	}
	if err != nil {
		e := api.AsError(err)
		err = api.Errorf(e.Code, "Screen %d of %d: %s", frames+1, api.MaxScreens-taken, e.Message).WithFix("%s", e.Fix)
	}
	words := ""
	if taken > 0 {
		words = fmt.Sprintf("; %d belong to other sessions", taken)
	}
	x.judge("screens", err, "a frame from each of %d in %.1f s%s", frames, time.Since(start).Seconds(), words)
}

// screens returns the open screens, nil when they are not known.
func (x *examination) screens(ctx context.Context) []api.Screen {
	info, err := x.info(ctx)
	if err != nil {
		return nil
	}
	return info.Screens
}

func (x *examination) info(ctx context.Context) (api.Info, error) {
	status, err := x.engine.Status(ctx)
	if err == nil && status.Endpoint == nil {
		err = errors.New("the computer has stopped")
	}
	if err != nil {
		return api.Info{}, err
	}
	computer := status.Endpoint.Client()
	defer computer.CloseIdle()
	return computer.Info(ctx)
}

// tidy removes what the examination has made, and stops a local computer that did not
// run before and that nobody else has joined.
func (x *examination) tidy(ctx context.Context, before engine.State) {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	var faults []error
	if x.folder != "" {
		_, err := x.shell(ctx, "rm -rf "+x.folder)
		faults = append(faults, err)
	}
	for _, session := range x.sessions {
		_, err := x.client.call(ctx, "end_session", map[string]any{"session": session})
		faults = append(faults, err)
	}
	words := "the sessions and files of this check are gone"
	if e, ok := x.engine.(*local.Engine); ok && before == engine.StateStopped && len(x.sessions) > 0 {
		if info, err := x.info(ctx); err == nil && len(info.Sessions) == 0 {
			_, err := e.Stop(ctx)
			faults = append(faults, err)
			words += ", and the computer has stopped again"
		}
	}
	faults = append(faults, x.client.close())
	if err := errors.Join(faults...); err != nil || len(x.sessions) > 0 {
		x.judge("tidy", err, "%s", words)
	}
}
