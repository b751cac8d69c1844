package input

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// mixed returns n characters of many scripts, about 500 different ones of 1000.
func mixed(n int) string {
	scripts := []string{
		printable(0x20, 0x7e), printable(0xa0, 0xff), printable(0x3b1, 0x3c9), printable(0x410, 0x44f),
		printable(0x4e00, 0x52ff), printable(0xac00, 0xacff), printable(0x1f600, 0x1f64f),
	}
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		script := []rune(scripts[random.IntN(len(scripts))])
		b.WriteRune(script[random.IntN(len(script))])
	}
	return b.String()
}

func TestTypeFast(t *testing.T) {
	const generous = 10 * time.Second // 1.4 s on an idle machine
	d, s := openDevice(t, "us")
	term := openTerminal(t, s)
	text := mixed(1000)
	begin := time.Now()
	if err := d.NewHolder().Type(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	term.expect(text)
	if took := time.Since(begin); took > generous {
		t.Errorf("1000 characters arrived in %v, want less than %v", took, generous)
	}
}

// BenchmarkType is the time until 1000 characters have arrived in a terminal.
func BenchmarkType(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"ascii", strings.Repeat(printable(0x20, 0x7e), 11)[:1000]},
		{"russian", string([]rune(strings.Repeat(texts["cyrillic"], 20))[:1000])},
		{"mixed", mixed(1000)},
		{"different", printable(0x4e00, 0x4e00+999)},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, s := openDevice(b, "us")
			term := openTerminal(b, s)
			h := d.NewHolder()
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Type(b.Context(), c.text); err != nil {
					b.Fatal(err)
				}
				term.expect(c.text)
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "chars/s")
		})
	}
}

// BenchmarkKey is what one key of a viewer costs.
func BenchmarkKey(b *testing.B) {
	d, _ := openDevice(b, "us")
	h := d.NewHolder()
	b.ReportAllocs()
	for b.Loop() {
		if err := h.Key('a', true); err != nil {
			b.Fatal(err)
		}
		if err := h.Key('a', false); err != nil {
			b.Fatal(err)
		}
	}
}
