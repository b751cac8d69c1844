package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
)

func TestBenchAgentTable(t *testing.T) {
	ms := func(values ...int) (d []time.Duration) {
		for _, v := range values {
			d = append(d, time.Duration(v)*time.Millisecond)
		}
		return d
	}
	out := (&benchmark{title: "title", rows: []measurement{
		{what: "a picture", ours: ms(9, 3, 2), bytes: 12_001, peer: "scrot", their: ms(60, 45, 30)},
		{what: "a command", ours: ms(4)},
	}}).String()
	for _, want := range []string{"| a picture | 3.0 | 13 | scrot | 45.0 | 15.0 |\n", "| a command | 4.0 |  |  |  |  |\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// A shell command has a time limit, and what it prints is cut: a rival that is measured a
// thousand times is not lost to that.
func TestBenchOfARivalGoesInBatches(t *testing.T) {
	const most = 50 // lines that this shell passes on
	server := mcp.NewServer(&mcp.Implementation{Name: "shell"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "shell"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]string) (*mcp.CallToolResult, any, error) {
		var rounds int
		if _, err := fmt.Sscanf(in["command"][strings.Index(in["command"], "$(seq"):], "$(seq %d)", &rounds); err != nil {
			return nil, nil, err
		}
		return nil, api.ShellResult{Stdout: strings.Repeat("1000\n", min(rounds, most))}, nil
	})
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := server.Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	b := &benchmark{client: &ownClient{session: session, shown: new(app).progressLine()}, rounds: 1000}
	their, err := b.timeRival(t.Context(), "scrot -o /tmp/bench.png", "")
	if err != nil || len(their) != 1000 || their[999] != time.Microsecond {
		t.Errorf("%d rounds, %v", len(their), err)
	}
}

func TestBenchOfGo(t *testing.T) {
	var g goBenchmarks
	for line := range strings.Lines(`goos: linux
cpu: A Processor @ 3 GHz
BenchmarkVNC
    vnc_bench_test.go:64: x11vnc is not installed
    vnc_bench_test.go:64: x11vnc is not installed
BenchmarkVNC/typing/Tight-2         	      20	        95.04 B/change	       123 B/change-Xvnc	 1.7024 ms-p50	  62049 ms-p50-Xvnc
BenchmarkVNC/scroll/Tight-2         	      20	        9999.4 B/change	       0 B/change-Xvnc	 1.7024 ms-p50	  9.996 ms-p50-Xvnc
BenchmarkIdle-16         	      20	  1002003 ns/op	   0.25 cpu-ms/s
BenchmarkPlain         	      20	  1002003 ns/op
PASS
`) {
		g.add(strings.TrimSuffix(line, "\n"))
	}
	const want = `A Processor @ 3 GHz
x11vnc is not installed

| benchmark | B/change: ours / Xvnc | ms-p50: ours / Xvnc |
|---|---|---|
| VNC/typing/Tight | 95.0 / 123 | 1.70 / 62.0k |
| VNC/scroll/Tight | 9999 / 0.00 | 1.70 / 10.00 |

| benchmark | cpu-ms/s |
|---|---|
| Idle | 0.25 |

| benchmark | ns/op |
|---|---|
| Plain | 1002k |
`
	if got := g.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Issue 10, item 7: each table's page names the command that makes it, whose benchmarks
// there are; and no page names a table that there is not.
func TestBenchMakesTheTablesOfTheDocs(t *testing.T) {
	named := map[string]bool{}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`computer-use-mcp bench ([a-z]+)`).FindAllStringSubmatch(string(text), -1) {
			named[filepath.Base(page)+" "+m[1]] = true
			if !slices.Contains(benchTableNames(), m[1]) {
				t.Errorf("%s: there is no table %s", page, m[1])
			}
		}
	}
	for _, table := range benchTables {
		if !named[filepath.Base(table.page)+" "+table.name] {
			t.Errorf("%s does not say that computer-use-mcp bench %s makes its table", table.page, table.name)
		}
		found := table.benchmarks == ""
		for _, dir := range table.packages {
			files, _ := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`).FindAllSubmatch(source, -1) {
					found = found || regexp.MustCompile(table.benchmarks).Match(m[1])
				}
			}
		}
		if !found {
			t.Errorf("there is no benchmark of %s", table.name)
		}
	}
}

// Outside the source what is made of it is refused, with what it needs.
func TestBenchWithoutTheSource(t *testing.T) {
	cmd := program(t, nil, "bench", "vnc")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), "in a clone of https://") {
		t.Errorf("%v: %s", err, out)
	}
}
