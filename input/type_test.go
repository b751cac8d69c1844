package input

import (
	"strings"
	"testing"
	"time"
)

// printable is every printable character from one code point to another.
func printable(from, to rune) string {
	var b strings.Builder
	for r := from; r <= to; r++ {
		if _, control := controlName(r); !control {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var texts = map[string]string{
	"ascii":     printable(0x20, 0x7e),
	"data":      "--help -n $(id) `id` '\"' ~ ^ <>|@{}~ \\n %s",
	"latin1":    printable(0xa0, 0xff),
	"accents":   "ÀÉÎÕÜ ß Ø ø Š Ñandú ñ ÆØÅ æøå",
	"greek":     "Ελληνικά άέήίόύώ ΑΒΓ σς",
	"cyrillic":  "Съешь же ещё этих мягких французских булок, да выпей чаю ЖЩЁ",
	"cjk":       "测试文字 日本語を入力する 한국어 繁體",
	"combining": "e\u0301 a\u0308 o\u0302\u0323 n\u0303",
	"emoji":     "😀🎉👩‍👩‍👧🇩🇪🏳️‍🌈👍🏽",
	"lines":     "a\tb\nc\r\nd",
}

func TestTypeTerminal(t *testing.T) {
	for _, layout := range []string{"us", "de", "fr", "us,ru"} {
		t.Run(layout, func(t *testing.T) {
			d, s := openDevice(t, layout)
			term := openTerminal(t, s)
			for name, text := range texts {
				begin := time.Now()
				if err := d.NewHolder().Type(t.Context(), text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				took := time.Since(begin)
				term.expect(strings.ReplaceAll(text, "\r", ""))
				t.Logf("%s: %v, arrived %v", name, took, time.Since(begin))
			}
		})
	}
}
