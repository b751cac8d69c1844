package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// isTerminal reports whether a person is at the other end of f. /dev/null is a character
// device as terminals are.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// output remembers the first error of its writer, so that a command fails when what it
// printed did not arrive. Writes are not concurrent.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func isTerminalWriter(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && isTerminal(f)
}

// colours says whether to colour what a person reads.
type colours bool

// colours returns whether stdout takes colours: a terminal does, unless NO_COLOR (see
// no-color.org) or TERM says otherwise.
func (a *app) colours() colours {
	return colours(isTerminalWriter(a.stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (c colours) good(text string) string { return c.paint("32", text) }
func (c colours) bad(text string) string  { return c.paint("1;31", text) }

// paint sets a text in a colour of ECMA-48 (SGR).
func (c colours) paint(colour, text string) string {
	if !c {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[m"
}

// progressLine shows what a call is doing, in one line that goes away at the call's
// end. Where stderr is no terminal it shows nothing.
type progressLine struct {
	out io.Writer // nil shows nothing

	mu      sync.Mutex
	calling bool // guarded by mu
}

func (a *app) progressLine() *progressLine {
	p := &progressLine{}
	if isTerminalWriter(a.stderr) {
		p.out = a.stderr
	}
	return p
}

// eraseLine goes to the line's beginning and erases it (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

func (p *progressLine) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calling = true
}

// show replaces the line. Progress that comes after its call's end is late.
func (p *progressLine) show(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil && p.calling && message != "" {
		fmt.Fprint(p.out, eraseLine, message)
	}
}

func (p *progressLine) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calling = false
	if p.out != nil {
		fmt.Fprint(p.out, eraseLine)
	}
}
