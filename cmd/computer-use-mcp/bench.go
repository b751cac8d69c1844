package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
)

// benchTable is one of the documentation's tables of numbers.
type benchTable struct {
	name, page, about string
	// benchmarks are Go's that make it, by a pattern for `go test -bench`, and packages are where
	// they are. The table that has none is measured by this program itself.
	benchmarks string
	packages   []string
}

// benchTables is every table of numbers that the documentation has.
var benchTables = []benchTable{
	{name: "agent", page: "docs/benchmarks.md", about: "what an agent waits for, beside other programs in the computer"},
	{"copies", "docs/benchmarks.md", "file_transfer beside cp, tar and docker cp", "^Benchmark(Docker)?FileTransfer$", []string{"./internal/e2e"}},
	{"settling", "docs/settling.md", "how late a verdict comes, and what waiting costs", "^Benchmark(VerdictLateness|WaitOnStillScreen)$", []string{"./capture/settle"}},
	{"form", "docs/settling.md", "a form filled in one batch, and step by step", "^BenchmarkForm$", []string{"./internal/e2e"}},
	{"docker", "docs/docker.md", "how long a computer in Docker takes", "^BenchmarkDocker(WarmStart|StoppedToFirstImage|Page)$", []string{"./internal/e2e"}},
	{"vnc", "docs/rfb.md", "the VNC server beside Xvnc, x0vncserver and x11vnc", "^BenchmarkVNC$", []string{"./internal/e2e"}},
	{"viewers", "docs/rfb.md", "many viewers, one that reads nothing, and 16 idle screens", "^Benchmark(LaterViewers|StalledViewer|SixteenIdleScreens)$", []string{"./rfb", "./internal/e2e"}},
}

func benchTableNames() (names []string) {
	for _, t := range benchTables {
		names = append(names, t.name)
	}
	return names
}

// benchAbout tells of the tables in the command's own help.
func benchAbout() []string {
	about := []string{
		"Without a table's name it measures every table of numbers in the documentation. A program to compare with is left out " +
			"where it is not installed.",
	}
	for _, t := range benchTables {
		about = append(about, fmt.Sprintf("%s: %s (%s)", t.name, t.about, t.page))
	}
	return append(about,
		"The first is measured in a session of its own on the computer; a ratio above 1 says how many times longer another "+
			"program takes, its start included. The others are benchmarks in the source: they need Go and a clone that has been "+
			"built (make build), in which the command is to be run.")
}

// bench measures tables and prints them.
func (a *app) bench(flags *flag.FlagSet) action {
	rounds := flags.Int("rounds", 20, "measure everything `N` times, 1 to 1000")
	return func(ctx context.Context, name string) error {
		if *rounds < 1 || *rounds > 1000 {
			return usageError{fmt.Errorf("--rounds is %d, which is not 1 to 1000", *rounds)}
		}
		var left []string
		var errs []error
		for _, t := range benchTables {
			if ctx.Err() != nil || name != "" && name != t.name {
				continue
			}
			results, err := a.measure(ctx, t, *rounds)
			switch {
			case errors.Is(err, errNoSource) && name == "":
				left = append(left, t.name)
			case err != nil:
				errs = append(errs, fmt.Errorf("bench %s: %w", t.name, err))
			default:
				fmt.Fprintf(a.stdout, "## %s: %s\n\n%s\n", t.name, t.about, results)
			}
		}
		if len(left) > 0 {
			fmt.Fprintf(a.stderr, "Not measured: %s, which are %v.\n", strings.Join(left, ", "), errNoSource)
		}
		return errors.Join(errs...)
	}
}

func (a *app) measure(ctx context.Context, t benchTable, rounds int) (fmt.Stringer, error) {
	if t.benchmarks == "" {
		return a.benchAgent(ctx, rounds)
	}
	return a.benchSource(ctx, t, rounds)
}
