package transfer

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// unpackArgument makes this test binary a process that unpacks its stdin, and that
// another test kills.
const unpackArgument = "unpack"

func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != unpackArgument {
		os.Exit(m.Run())
	}
	if len(os.Args) == 4 {
		withoutUnnamed()
	}
	a, err := NewArchive(os.Stdin)
	if err == nil {
		var target *Target
		if target, err = Aim(Computer, os.Args[2], a.Origin, Options{Overwrite: true}); err == nil {
			_, err = target.Unpack(context.Background(), a, ignore)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
