package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/docker"
)

// module is what the clone's go.mod says.
const module = "github.com/falleng0d/computer-use-mcp"

// errNoSource is why a table of benchSource cannot be made here.
var errNoSource = errors.New("made by benchmarks in the source: they need Go, and the command to be run in a clone of https://" + module)

// benchSource has go run the benchmarks of a table, in the clone that the working
// directory is in. It fails with errNoSource outside.
func (a *app) benchSource(ctx context.Context, t benchTable, rounds int) (*goBenchmarks, error) {
	list, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	path, source, _ := strings.Cut(strings.TrimSpace(string(list)), " ")
	if err != nil || path != module {
		return nil, errNoSource
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{
		"test", "-run", "^$", "-bench", t.benchmarks, "-benchtime", strconv.Itoa(rounds) + "x", "-v", "-p", "1", "-timeout", "3h",
	}, t.packages)...)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if exec.CommandContext(ctx, "docker", "image", "inspect", docker.DevImage).Run() == nil {
		cmd.Env = append(cmd.Env, "E2E_DOCKER_IMAGE="+docker.DevImage)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // as Ctrl-C does: go waits for its tests
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	shown := a.progressLine()
	shown.begin()
	defer shown.end()
	results := new(goBenchmarks)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		results.add(lines.Text())
		if strings.HasPrefix(lines.Text(), "Benchmark") {
			shown.show(lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, strings.Join(results.said, "\n"))
	}
	return results, nil
}

// goBenchmarks is what `go test -bench` has printed.
type goBenchmarks struct {
	rows  []goBenchmark
	notes []string // of the benchmarks: what was left out, and the like
	said  []string // the last lines that are no results, for an error
}

// goBenchmark is one result.
type goBenchmark struct {
	name          string
	units, values []string
}

// note is a line that a benchmark has logged, without its place.
var note = regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.*)`)

// add takes one line of output.
func (g *goBenchmarks) add(line string) {
	if r, ok := parseGoBenchmark(line); ok {
		g.rows = append(g.rows, r)
		return
	}
	g.said = append(g.said, line)
	g.said = g.said[max(0, len(g.said)-20):]
	text, isCPU := strings.CutPrefix(line, "cpu: ")
	if m := note.FindStringSubmatch(line); m != nil {
		text = m[1]
	} else if !isCPU {
		return
	}
	if !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}

// parseGoBenchmark reads "BenchmarkName-2  20  1.5 ms-p50  300 B/change". The time of an iteration
// is left out where a benchmark reports numbers of its own.
func parseGoBenchmark(line string) (r goBenchmark, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return r, false
	}
	name, ok := strings.CutPrefix(fields[0], "Benchmark")
	if _, err := strconv.Atoi(fields[1]); err != nil || !ok {
		return r, false
	}
	if i := strings.LastIndexByte(name, '-'); i >= 0 { // the number of processors
		name = name[:i]
	}
	r.name = name
	for i := 2; i < len(fields); i += 2 {
		if fields[i+1] != "ns/op" || len(fields) == 4 {
			r.values, r.units = append(r.values, shortened(fields[i])), append(r.units, fields[i+1])
		}
	}
	return r, true
}

// shortened gives a number three digits.
func shortened(number string) string {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	suffix := ""
	if math.Abs(v) >= 10_000 {
		v, suffix = v/1000, "k"
	}
	digits := 2
	for limit := 10.0; digits > 0 && math.Abs(v) >= limit; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + suffix
}

// String returns a Markdown table for each sequence of results in the same units.
func (g *goBenchmarks) String() string {
	var b strings.Builder
	for _, n := range g.notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	for rest := g.rows; len(rest) > 0; {
		n := 1
		for n < len(rest) && slices.Equal(rest[n].units, rest[0].units) {
			n++
		}
		columns := columnsOf(rest[0].units)
		rows := [][]string{append([]string{"benchmark"}, headers(rest[0].units, columns)...)}
		for _, r := range rest[:n] {
			row := []string{r.name}
			for _, column := range columns {
				var values []string
				for _, i := range column {
					values = append(values, r.values[i])
				}
				row = append(row, strings.Join(values, " / "))
			}
			rows = append(rows, row)
		}
		fmt.Fprintf(&b, "\n%s", markdown(rows))
		rest = rest[n:]
	}
	return b.String()
}

// columnsOf groups units, by their indices. What continues another unit after a hyphen is
// another program's number and shares its column: "ms-p50-x11vnc" that of "ms-p50".
func columnsOf(units []string) (columns [][]int) {
	for i, unit := range units {
		of := slices.IndexFunc(columns, func(column []int) bool { return strings.HasPrefix(unit, units[column[0]]+"-") })
		if of < 0 {
			columns = append(columns, []int{i})
		} else {
			columns[of] = append(columns[of], i)
		}
	}
	return columns
}

func headers(units []string, columns [][]int) (headers []string) {
	for _, column := range columns {
		header := units[column[0]]
		for j, i := range column[1:] {
			if j == 0 {
				header += ": ours"
			}
			header += " / " + strings.TrimPrefix(units[i], units[column[0]]+"-")
		}
		headers = append(headers, header)
	}
	return headers
}

// markdown returns rows as a table, the first of them as its head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
