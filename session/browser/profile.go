package browser

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The profile in home is a template that no Chromium runs on: each start makes a new copy
// of it, so whatever a killed one leaves behind, locks included, is gone at the next start,
// and screens do not share one. When a Chromium quits in good order, what it has changed of
// the files below goes back into the template, and the extensions go with it: the preferences
// name them, and Chromium would not notice that they are missing. Caches, history, cookies
// (see jar) and what extensions store are not carried.
//
// All of it is done by bash as the programs' user, who owns the files and could have put
// links in their place.

//go:embed profile.sh
var profileScript string

// carried are the files of a profile that are copied back, relative to its folder.
var carried = []string{
	"Default/Bookmarks", "Default/Preferences", "Default/Secure Preferences",
	"Default/Login Data", "Default/Web Data", "Default/Custom Dictionary.txt",
}

// profileDir is the folder of a screen's copy.
func (b *Browsers) profileDir(screen int) string {
	return filepath.Join(filepath.Dir(b.template()), "screen-"+strconv.Itoa(screen))
}

// makeProfile makes a new copy of the template.
func (b *Browsers) makeProfile(ctx context.Context, dir string) error {
	b.profiles.Lock()
	defer b.profiles.Unlock()
	if err := endHolder(ctx, dir); err != nil {
		return err
	}
	return b.script(ctx, "make", b.template(), dir)
}

// saveProfile brings back what was changed in a copy. What two have changed is the one's
// that calls last.
func (b *Browsers) saveProfile(ctx context.Context, dir string) error {
	b.profiles.Lock()
	defer b.profiles.Unlock()
	return b.script(ctx, append([]string{"save", b.template(), dir}, carried...)...)
}

func (b *Browsers) script(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "/bin/bash", append([]string{"-euc", profileScript, "profile"}, args...)...)
	cmd.Env = b.cfg.Env
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.cfg.User.Sys()}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s the browser's profile: %v: %.300s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// endHolder ends a Chromium that runs on a profile: one that was started past this
// process, or that outlived the one before. Its lock is a link to HOST-PID, which may be
// stale: its host may be a container of another name, its number may be nobody's or
// somebody else's by now.
func endHolder(ctx context.Context, dir string) error {
	target, err := os.Readlink(filepath.Join(dir, "SingletonLock"))
	if err != nil {
		return nil // nobody has it
	}
	i := strings.LastIndexByte(target, '-')
	if i < 0 {
		return nil
	}
	host, _ := os.Hostname()
	pid, err := strconv.Atoi(target[i+1:])
	if err != nil || pid <= 1 || target[:i] != host {
		return nil
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(process)
	if !runsOn(pid, dir) { // asked after the number was pinned
		return nil
	}
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if err := unix.PidfdSendSignal(process, signal, nil, 0); err != nil {
			return nil // it has just ended
		}
		if waitEnd(ctx, process, closeTime) {
			return nil
		}
	}
	return fmt.Errorf("another browser, process %d, uses the profile %s and cannot be ended", pid, dir)
}

// runsOn reports whether a process is a program on the profile.
func runsOn(pid int, dir string) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	// Chromium's processes join their arguments with spaces when they name themselves.
	return err == nil && strings.Contains(strings.ReplaceAll(string(line), "\x00", " ")+" ", "--user-data-dir="+dir+" ")
}

// waitEnd waits until a process has ended, and reports false when it has not after d.
func waitEnd(ctx context.Context, process int, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline))
	}
	for end := time.Now().Add(d); ; {
		left := max(0, time.Until(end))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if err != unix.EINTR {
			return n > 0
		}
	}
}
