//go:build ignore

// Gen writes keysyms.txt from the X protocol's header files: one line per name,
// "name hex-keysym [hex-code-point]", in the headers' order. Names that stand for the
// same key are kept, the one to prefer first. A code point is only given where the header calls
// the keysym equal to the character, not where it is a legacy look-alike.
//
//	go run gen.go /usr/include/X11/keysymdef.h /usr/include/X11/XF86keysym.h > keysyms.txt
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
)

var (
	define = regexp.MustCompile(`^#define (XK_|XF86XK_)(\w+)\s+(_EVDEVK\()?0x([0-9A-Fa-f]+)\)?(.*)`)
	equal  = regexp.MustCompile(`/\* U\+([0-9A-F]{4,6}) `)
)

// evdevBase is added to the Linux key codes in the header's _EVDEVK macro.
const evdevBase = 0x10081000

func main() {
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, path := range os.Args[1:] {
		f, err := os.Open(path)
		if err != nil {
			log.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			m := define.FindStringSubmatch(lines.Text())
			if m == nil {
				continue
			}
			name := m[2]
			if m[1] == "XF86XK_" {
				name = "XF86" + name
			}
			value, err := strconv.ParseUint(m[4], 16, 32)
			if err != nil {
				log.Fatalf("%s: %v", name, err)
			}
			if m[3] != "" {
				value += evdevBase
			}
			fmt.Fprintf(out, "%s %x", name, value)
			if u := equal.FindStringSubmatch(m[5]); u != nil && value < 0x01000000 {
				fmt.Fprintf(out, " %s", u[1])
			}
			fmt.Fprintln(out)
		}
		f.Close()
	}
}
