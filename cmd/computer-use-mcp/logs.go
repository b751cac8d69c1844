package main

import (
	"context"
	"flag"
	"fmt"
)

// logs prints the log of the computer's daemon.
func (a *app) logs(flags *flag.FlagSet) action {
	lines := flags.Int("lines", 200, "the last `N` lines")
	follow := flags.Bool("follow", false, "go on with what is added, until Ctrl-C")
	return func(ctx context.Context, _ string) error {
		if *lines < 0 {
			return usageError{fmt.Errorf("--lines is %d, which is not 0 or more; a large number prints the whole log", *lines)}
		}
		e, _, err := chooseOrLocal(ctx, a.settings, a.logger())
		if err != nil {
			return err
		}
		defer e.Close()
		return e.Log(ctx, a.stdout, *lines, *follow)
	}
}
