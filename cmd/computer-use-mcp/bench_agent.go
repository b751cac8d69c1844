package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
)

// measurement is one row of the agent's table: what an agent waits for, and what another
// program takes for the same on the same screen.
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

// benchAgent measures what an agent waits for, through the protocol.
func (a *app) benchAgent(ctx context.Context, rounds int) (*benchmark, error) {
	e, note, err := chooseOrLocal(ctx, a.settings, a.logger())
	if err != nil {
		return nil, err
	}
	client, err := a.connect(ctx, "computer-use-mcp-bench", e)
	if err != nil {
		return nil, err
	}
	b := &benchmark{client: client, rounds: rounds}
	b.title = strings.TrimSpace(fmt.Sprintf("computer-use-mcp %s, %s engine, medians of %d. %s", version, e.Name(), rounds, note))
	return b, errors.Join(b.run(ctx), client.close())
}

// benchmark is one run of it, whose session has the terminal in front.
type benchmark struct {
	title   string
	client  *ownClient
	rounds  int
	session string
	size    string // of the screen
	rows    []measurement
}

// benchCall is a call of a tool that is measured.
type benchCall struct {
	what    string
	tool    string
	args    map[string]any
	before  func(ctx context.Context) error // each round, not measured; nil for nothing
	rivals  []rival
	cleanup string // before each round of a rival
}

func (b *benchmark) run(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	if _, err := b.call(ctx, "computer_act", acts(false, map[string]any{"kind": "focus", "application": "terminal"})); err != nil {
		return err
	}
	for _, c := range b.calls() {
		m, err := b.measure(ctx, c)
		if err == nil {
			err = b.compare(ctx, m, c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return nil
}

// calls lists what is measured.
func (b *benchmark) calls() []benchCall {
	typed := map[string]any{"kind": "type", "text": benchText}
	unwatched := acts(false, typed)
	unwatched["settle"] = "off"
	clearLine := func(ctx context.Context) error {
		_, err := b.call(ctx, "computer_act", acts(false, map[string]any{"kind": "key", "key": "u", "modifiers": []string{"ctrl"}}))
		return err
	}
	click := map[string]any{"kind": "click", "x": 200, "y": 200}
	moveOn := func(context.Context) error {
		click["x"] = 201 - click["x"].(int)%2 // the same click without effect would be refused
		return nil
	}
	return []benchCall{
		{"a picture of the screen", "computer_observe", map[string]any{"force": true, "format": "png"}, nil, grabbers, ""},
		{"an unchanged screen, without a picture", "computer_observe", nil, nil, nil, ""},
		{"50 letters typed, without waiting for the screen", "computer_act", unwatched, clearLine, typists, "xdotool key ctrl+u"},
		{"50 letters typed, the screen at rest, a picture", "computer_act", acts(true, typed), clearLine, nil, ""},
		{"a click on the terminal, the screen at rest, a picture", "computer_act", acts(true, click), moveOn, nil, ""},
		{"a command in the shell", "shell", map[string]any{"command": "true"}, nil, nil, ""},
	}
}

// acts are arguments of computer_act.
func acts(observe bool, actions ...map[string]any) map[string]any {
	return map[string]any{"actions": actions, "observe": observe}
}

func (b *benchmark) measure(ctx context.Context, c benchCall) (measurement, error) {
	m := measurement{what: c.what}
	for range b.rounds {
		if c.before != nil {
			if err := c.before(ctx); err != nil {
				return m, err
			}
		}
		begin := time.Now()
		result, err := b.call(ctx, c.tool, c.args)
		if err != nil {
			return m, err
		}
		m.ours = append(m.ours, time.Since(begin))
		m.bytes = 0
		if p := picture(result); p != nil {
			m.bytes = len(p.Data)
		}
	}
	return m, nil
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

// timing is a script that prints how many nanoseconds each round of a rival takes, and
// nothing where the computer does not have it.
const timing = `command -v %[1]s >/dev/null || exit 0
export SIZE=%[2]s
for i in $(seq %[3]d); do
	%[4]s >&2
	start=$(date +%%s%%N)
	%[5]s >&2 || exit 1
	end=$(date +%%s%%N)
	echo $((end - start))
done`

// compare adds a row for each rival that the computer has, or one without.
func (b *benchmark) compare(ctx context.Context, m measurement, c benchCall) error {
	compared := false
	for _, r := range c.rivals {
		their, err := b.timeRival(ctx, r.command, c.cleanup)
		if err != nil {
			return err
		}
		if their != nil {
			with := m
			with.peer, with.their = r.program, their
			b.rows = append(b.rows, with)
			compared = true
		}
	}
	if !compared {
		b.rows = append(b.rows, m)
	}
	return nil
}

// batch is how many rounds of a rival one command of the shell runs: its time is limited,
// and so is what it may print.
const batch = 20

// timeRival returns how long each round of a rival's command took, nil where the computer does
// not have it or it fails.
func (b *benchmark) timeRival(ctx context.Context, command, cleanup string) (their []time.Duration, err error) {
	program, _, _ := strings.Cut(command, " ")
	for len(their) < b.rounds {
		want := len(their) + min(batch, b.rounds-len(their))
		script := fmt.Sprintf(timing, program, b.size, want-len(their), cmp.Or(cleanup, "true"), command)
		var result api.ShellResult
		if _, err := b.client.facts(ctx, "shell", map[string]any{"session": b.session, "command": script}, &result); err != nil {
			return nil, err
		}
		for line := range strings.Lines(result.Stdout) {
			if ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
				their = append(their, time.Duration(ns))
			}
		}
		if len(their) != want {
			return nil, nil
		}
	}
	return their, nil
}

func (b *benchmark) call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	given := map[string]any{"session": b.session}
	for name, value := range args {
		given[name] = value
	}
	return b.client.call(ctx, tool, given)
}

// String returns the rows as a Markdown table.
func (b *benchmark) String() string {
	rows := [][]string{{"what an agent waits for", "ms", "kB", "another program", "ms", "ratio"}}
	for _, m := range b.rows {
		ours := median(m.ours)
		row := []string{m.what, milliseconds(ours), "", "", "", ""}
		if m.bytes > 0 {
			row[2] = strconv.Itoa((m.bytes + 999) / 1000)
		}
		if m.peer != "" {
			their := median(m.their)
			row[3], row[4] = m.peer, milliseconds(their)
			row[5] = fmt.Sprintf("%.1f", float64(their)/float64(ours))
		}
		rows = append(rows, row)
	}
	return b.title + "\n\n" + markdown(rows)
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64)
}

// median returns the middle value of at least one.
func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
