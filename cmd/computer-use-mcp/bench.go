package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
)

// measurement is one row of bench: what an agent waits for, and what another program
// takes for the same on the same screen.
type measurement struct {
	what  string
	ours  []time.Duration
	bytes int    // of the last picture
	peer  string // empty: there is none
	their []time.Duration
}

// rival is another program that does what we do, run in the computer.
type rival struct{ program, command string }

// Rivals of an observation and of typing. $DISPLAY is the session's.
var (
	grabbers = []rival{
		{"ffmpeg", `ffmpeg -loglevel error -y -f x11grab -video_size "$SIZE" -i "$DISPLAY" -frames:v 1 /tmp/bench.png`},
		{"ImageMagick import", `import -window root /tmp/bench.png`},
		{"scrot", `scrot -o /tmp/bench.png`},
	}
	typists = []rival{{"xdotool", `xdotool type --delay 0 "` + benchText + `"`}}
)

// benchText is what typing is measured with: 50 letters.
const benchText = "the quick brown fox jumps over the lazy dog, twice"

// bench measures what an agent waits for, through the protocol, and prints a table.
func (a *app) bench(flags *flag.FlagSet) action {
	rounds := flags.Int("rounds", 20, "measure everything `N` times, 1 to 1000; medians are printed")
	return func(ctx context.Context, _ string) error {
		if *rounds < 1 || *rounds > 1000 {
			return usageError{fmt.Errorf("--rounds is %d, which is not 1 to 1000", *rounds)}
		}
		e, note, err := chooseOrLocal(ctx, a.settings, a.logger())
		if err != nil {
			return err
		}
		client, err := a.connect(ctx, "computer-use-mcp-bench", e)
		if err != nil {
			return err
		}
		b := &benchmark{client: client, rounds: *rounds}
		err = b.run(ctx)
		if err == nil {
			fmt.Fprintf(a.stdout, "computer-use-mcp %s, %s engine, medians of %d. %s\n\n", version, e.Name(), *rounds, note)
			b.write(a.stdout)
		}
		return errors.Join(err, client.close())
	}
}

// benchmark is one run of bench.
type benchmark struct {
	client  *ownClient
	rounds  int
	session string
	size    string // of the screen
	rows    []measurement
}

func (b *benchmark) run(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	act := func(observe bool, actions ...map[string]any) map[string]any {
		return map[string]any{"actions": actions, "observe": observe}
	}
	if _, err := b.call(ctx, "computer_act", act(false, map[string]any{"kind": "focus", "application": "terminal"})); err != nil {
		return err
	}
	typed := act(true, map[string]any{"kind": "type", "text": benchText})
	// The line is cleared before each round, which no row counts.
	clearLine := func() error {
		_, err := b.call(ctx, "computer_act", act(false, map[string]any{"kind": "key", "key": "u", "modifiers": []string{"ctrl"}}))
		return err
	}
	nothing := func() error { return nil }
	click := map[string]any{"kind": "click", "x": 200, "y": 200}
	for _, row := range []struct {
		what    string
		tool    string
		args    map[string]any
		before  func() error
		rivals  []rival
		cleanup string // after each round of a rival
	}{
		{"a picture of the screen", "computer_observe", map[string]any{"force": true, "format": "png"}, nothing, grabbers, ""},
		{"an unchanged screen, without a picture", "computer_observe", map[string]any{}, nothing, nil, ""},
		{"50 letters typed, without waiting for the screen", "computer_act", map[string]any{
			"actions": []any{map[string]any{"kind": "type", "text": benchText}}, "observe": false, "settle": "off",
		}, clearLine, typists, "xdotool key ctrl+u"},
		{"50 letters typed, the screen at rest, a picture", "computer_act", typed, clearLine, nil, ""},
		{"a click on the terminal, the screen at rest, a picture", "computer_act", act(true, click), func() error {
			click["x"] = 201 - click["x"].(int)%2 // the same click without effect would be refused
			return nil
		}, nil, ""},
		{"a command in the shell", "shell", map[string]any{"command": "true"}, nothing, nil, ""},
	} {
		m := measurement{what: row.what}
		for range b.rounds {
			if err := row.before(); err != nil {
				return err
			}
			took, result, err := b.timed(ctx, row.tool, row.args)
			if err != nil {
				return fmt.Errorf("%s: %w", row.what, err)
			}
			m.ours = append(m.ours, took)
			m.bytes = 0
			if p := picture(result); p != nil {
				m.bytes = len(p.Data)
			}
		}
		if err := b.compare(ctx, m, row.rivals, row.cleanup); err != nil {
			return err
		}
	}
	return nil
}

// start measures what a session costs until its first picture, and leaves one open.
func (b *benchmark) start(ctx context.Context) error {
	m := measurement{what: "a new session to its first picture"}
	for range b.rounds {
		if b.session != "" {
			if _, err := b.call(ctx, "end_session", nil); err != nil {
				return err
			}
		}
		b.session = ""
		begin := time.Now()
		var started api.StartResult
		if _, err := b.client.facts(ctx, "start_computer", map[string]any{"title": "bench"}, &started); err != nil {
			return err
		}
		b.session = started.Session
		var seen api.Observation
		if _, err := b.client.facts(ctx, "computer_observe", map[string]any{"session": b.session}, &seen); err != nil {
			return err
		}
		m.ours = append(m.ours, time.Since(begin))
		m.bytes = seen.Image.Bytes
		b.size = fmt.Sprintf("%dx%d", seen.Frame.Width, seen.Frame.Height)
	}
	if len(m.ours) > 1 {
		m.ours = m.ours[1:] // the first one may have started the computer
	}
	b.rows = append(b.rows, m)
	return nil
}

// compare adds a row for each rival that the computer has, or one without.
func (b *benchmark) compare(ctx context.Context, m measurement, rivals []rival, cleanup string) error {
	before := len(b.rows)
	for _, r := range rivals {
		program, _, _ := strings.Cut(r.command, " ")
		if cleanup == "" {
			cleanup = "true"
		}
		script := fmt.Sprintf("command -v %s >/dev/null || exit 0\nexport SIZE=%s\nfor i in $(seq %d); do %s >&2; s=$(date +%%s%%N); %s >&2 || exit 1; e=$(date +%%s%%N); echo $((e-s)); done",
			program, b.size, b.rounds, cleanup, r.command)
		var result api.ShellResult
		if _, err := b.client.facts(ctx, "shell", map[string]any{"session": b.session, "command": script}, &result); err != nil {
			return err
		}
		with := m
		with.peer = r.program
		for line := range strings.Lines(result.Stdout) {
			if ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
				with.their = append(with.their, time.Duration(ns))
			}
		}
		if result.ExitCode != nil && *result.ExitCode == 0 && len(with.their) == b.rounds {
			b.rows = append(b.rows, with)
		}
	}
	if len(b.rows) == before {
		b.rows = append(b.rows, m)
	}
	return nil
}

func (b *benchmark) call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	given := map[string]any{"session": b.session}
	for name, value := range args {
		given[name] = value
	}
	return b.client.call(ctx, tool, given)
}

func (b *benchmark) timed(ctx context.Context, tool string, args map[string]any) (time.Duration, *mcp.CallToolResult, error) {
	begin := time.Now()
	result, err := b.call(ctx, tool, args)
	return time.Since(begin), result, err
}

// write prints the rows as a Markdown table.
func (b *benchmark) write(w io.Writer) {
	fmt.Fprint(w, "| what an agent waits for | ms | kB | another program | ms | ratio |\n|---|---:|---:|---|---:|---:|\n")
	for _, m := range b.rows {
		ours := median(m.ours)
		kb, peer, their, ratio := "", "", "", ""
		if m.bytes > 0 {
			kb = strconv.Itoa((m.bytes + 999) / 1000)
		}
		if m.peer != "" {
			t := median(m.their)
			peer, their = m.peer, milliseconds(t)
			ratio = fmt.Sprintf("%.1f", float64(t)/float64(ours))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", m.what, milliseconds(ours), kb, peer, their, ratio)
	}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64)
}

// median returns the middle value of at least one.
func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
