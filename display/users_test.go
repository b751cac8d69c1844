package display

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// TestUsersOfTheirOwn runs the X server, programs and this process as three users.
func TestUsersOfTheirOwn(t *testing.T) {
	xvfbtest.NeedThat(t, os.Getuid() == 0, "root, to start programs as other users")
	m := newManager(t)
	if err := os.Chmod(filepath.Dir(filepath.Dir(m.cfg.StateDir)), 0o711); err != nil {
		t.Fatal(err)
	}
	m.cfg.ServerUser = &Credential{UID: 50001, GID: 50001}
	m.cfg.ProgramUser = &Credential{UID: 50002, GID: 50002}
	// A closed folder above the files is named.
	closed := filepath.Dir(m.cfg.StateDir)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), 640, 480); err == nil || !strings.Contains(err.Error(), closed+" is closed to user 50001") {
		t.Errorf("error %v", err)
	}
	if err := os.Chmod(closed, 0o711); err != nil {
		t.Fatal(err)
	}
	s := open(t, m)
	if colour, _ := pixel(t, s, 10, 10); colour != Background {
		t.Errorf("the background is %#06x", colour)
	}
	waitManager(t, s)
	for pid, want := range map[int]int{s.XvfbPID(): 50001, childOf(t, s, "fluxbox"): 50002} {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", want)) {
			t.Errorf("process %d does not run as %d: %s", pid, want, status)
		}
	}

	as := func(uid uint32, name string, args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Env = s.Env()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if uid == 50002 {
			cmd.SysProcAttr.Credential.Gid = s.User().GID
		}
		return cmd.Run()
	}
	if err := as(50002, "cat", s.Xauthority()); err != nil {
		t.Errorf("programs cannot read their authority: %v", err)
	}
	for _, uid := range []uint32{50001, 50003} {
		if err := as(uid, "cat", s.Xauthority()); err == nil {
			t.Errorf("user %d can read the programs' authority", uid)
		}
	}
	// Programs of another screen have the same user and another group. They reach neither
	// the authority nor, through /proc, who knows of it.
	for _, path := range []string{s.Xauthority(), fmt.Sprintf("/proc/%d/environ", childOf(t, s, "fluxbox"))} {
		for group, want := range map[uint32]bool{s.User().GID: true, s.User().GID + 1: false, 50002: false} {
			cat := exec.Command("cat", path)
			cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 50002, Gid: group}}
			if err := cat.Run(); (err == nil) != want {
				t.Errorf("group %d reads %s: %v", group, path, err)
			}
		}
	}
	if err := as(50002, "cat", s.serverAuthority()); err == nil {
		t.Error("programs can read the X server's authority")
	}
	if err := as(50002, "ls", s.dir); err == nil {
		t.Error("programs can list the screen's folder")
	}
	if err := as(50002, "xsetroot", "-solid", "red"); err != nil {
		t.Errorf("programs cannot use the screen: %v", err)
	}
	if err := as(50003, "xsetroot", "-solid", "red"); err == nil {
		t.Error("another user can use the screen")
	}
	if err := as(50002, "kill", "-KILL", fmt.Sprint(s.XvfbPID())); err == nil {
		t.Error("programs can kill the X server")
	}

	// It comes back as the same users.
	_, before := pixel(t, s, 0, 0)
	if err := syscall.Kill(s.XvfbPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitEpoch(t, s, before)
	pixel(t, s, 0, 0)
	waitNotes(t, s)
	if err := as(50002, "xsetroot", "-solid", "red"); err != nil {
		t.Errorf("programs cannot use the new X server: %v", err)
	}
}
