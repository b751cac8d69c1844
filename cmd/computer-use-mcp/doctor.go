package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// diagnosis is the answer of `doctor --json`.
type diagnosis struct {
	Version  string         `json:"version"`
	Platform string         `json:"platform"` // linux/amd64
	Engine   string         `json:"engine,omitempty"`
	OK       bool           `json:"ok"` // all checks are
	Checks   []engine.Check `json:"checks"`

	told func(engine.Check) // shows a check as soon as it is known
}

func (d *diagnosis) add(checks ...engine.Check) {
	for _, c := range checks {
		d.OK = d.OK && c.OK
		d.Checks = append(d.Checks, c)
		d.told(c)
	}
}

// pass adds a check that found what it should.
func (d *diagnosis) pass(name, format string, args ...any) {
	d.add(engine.Passed(name, format, args...))
}

// judge adds a check that failed when there is an error, else one that found the words,
// and reports which.
func (d *diagnosis) judge(name string, err error, format string, args ...any) bool {
	if err != nil {
		d.add(engine.Failed(name, err))
	} else {
		d.pass(name, format, args...)
	}
	return err == nil
}

// doctor checks, part by part, what an agent's work on the computer needs.
func (a *app) doctor(flags *flag.FlagSet) action {
	full := flags.Bool("full", false, "open every screen that is free, up to 16, and not just one")
	asJSON := flags.Bool("json", false, "print JSON, for a script")
	return func(ctx context.Context, _ string) error {
		d := &diagnosis{Version: version, Platform: runtime.GOOS + "/" + runtime.GOARCH, OK: true}
		d.told = func(c engine.Check) { writeCheck(a.stdout, a.colours(), c) }
		if *asJSON {
			d.told = func(engine.Check) {}
		}
		a.diagnose(ctx, d, *full)
		// Last, because the rest does not depend on them.
		for _, unknown := range hostmcp.CheckNames(os.Environ()) {
			d.judge("settings", unknown, "")
		}
		if *asJSON {
			if err := writeJSON(a.stdout, d); err != nil {
				return err
			}
		} else {
			writeVerdict(a.stdout, d)
		}
		if !d.OK {
			return errReported
		}
		return nil
	}
}

// diagnose looks at the settings, then at the engine, then at a computer of it. A part
// that is not well makes those behind it pointless.
func (a *app) diagnose(ctx context.Context, d *diagnosis, full bool) {
	d.pass("version", "computer-use-mcp %s, %s, %s", d.Version, runtime.Version(), d.Platform)
	for _, s := range hostmcp.SettingTable {
		if _, err := a.settings.Get(s.Name); err != nil {
			d.judge("settings", err, "")
		}
	}
	if !d.OK {
		return
	}
	e, err := chooseEngine(a.settings, a.logger())
	if err != nil {
		d.judge("engine", err, "")
		return
	}
	defer e.Close()
	d.Engine = e.Name()
	how := "by COMPUTER_USE_ENGINE"
	if !a.settings.IsSet(hostmcp.SettingEngine) {
		how = "as the default of COMPUTER_USE_ENGINE"
	}
	d.pass("engine", "%s, chosen %s", e.Name(), how)
	d.add(e.Diagnose(ctx)...)
	if d.OK {
		a.diagnoseComputer(ctx, d, e, full)
	}
}

// writeCheck shows a check to a person: one line, and one with what to do.
func writeCheck(w io.Writer, c colours, check engine.Check) {
	mark := c.good("ok")
	if !check.OK {
		mark = c.bad("! ")
	}
	fmt.Fprintf(w, "%s %-10s %s\n", mark, check.Name, check.Detail)
	if check.Fix != "" {
		fmt.Fprintf(w, "   %-10s %s\n", "", check.Fix)
	}
}

func writeVerdict(w io.Writer, d *diagnosis) {
	bad := 0
	for _, c := range d.Checks {
		if !c.OK {
			bad++
		}
	}
	if bad == 0 {
		fmt.Fprintf(w, "\nAll %d checks passed.\n", len(d.Checks))
		return
	}
	fmt.Fprintf(w, "\n%d of %d checks failed; what would have needed them was left out.\n", bad, len(d.Checks))
}
