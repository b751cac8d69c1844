package main

import (
	"bytes"
	"context"
	"crypto/rand"
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
)

const (
	leastShared = 512 << 20 // bytes of shared memory that browsers need
	leastDisk   = 1 << 30   // bytes that should be free in the computer's home
	doctorFile  = 1 << 20   // bytes of the file that is sent both ways
)

func (x *examination) look(ctx context.Context) bool {
	words, err := x.frame(ctx, x.sessions[0])
	return x.judge("screen", err, "%s", words)
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
	shared, _ := strconv.ParseInt(fields[0], 10, 64) // df prints numbers
	disk, _ := strconv.ParseInt(fields[1], 10, 64)
	x.enough("shared mem", shared<<10, leastShared, "Close browsers on other screens; give a container that was made by hand --shm-size 2g.")
	x.enough("home", disk<<10, leastDisk, "Remove files from the computer's home, or make room on its disk.")
	filter := "no filter of system calls beyond the sandbox"
	if fields[2] == "2" {
		filter = "system calls of programs are filtered (seccomp)"
	}
	x.pass("programs", "%s", filter)
}

// enough checks that so many bytes are free.
func (x *examination) enough(name string, free, least int64, fix string) {
	words := fmt.Sprintf("%.1f GB are free on the computer", float64(free)/1e9)
	var err error
	if free < least {
		err = api.Errorf(api.CodeInternal, "Only %s.", words).WithFix("%s", fix)
	}
	x.judge(name, err, "%s", words)
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
			err = api.Errorf(api.CodeInternal, "A line was to be typed into a terminal, but its %s did not come.", step.args["for"]).
				WithFix("Terminals need a program and a font: Debian's xterm and fonts-dejavu-core, for example. See `computer-use-mcp logs` when there are.")
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
	frames := 1
	var err error
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
