package shell

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// cgroup is a control group (cgroups(7), version 2): what is started in it cannot leave
// it. A nil one does nothing and holds nothing.
type cgroup struct {
	path string
}

// newCgroup returns a group of this process's own for the groups of commands, nil when
// the system allows none, as in most containers.
func newCgroup() *cgroup {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mount, path := cgroupMount(string(mounts)), cgroupPath(string(own))
	if mount == "" || path == "" {
		return nil
	}
	c := &cgroup{path: filepath.Join(mount, path, "computer-use-"+strconv.Itoa(os.Getpid()))}
	if os.Mkdir(c.path, 0o755) != nil {
		return nil
	}
	if !c.works() {
		c.remove()
		return nil
	}
	return c
}

// works tries the group out: a process may have to begin elsewhere although groups can
// be made, and before Linux 5.14 a group cannot be ended at one stroke.
func (c *cgroup) works() bool {
	if _, err := os.Stat(filepath.Join(c.path, "cgroup.kill")); err != nil {
		return false
	}
	try := exec.Command("/bin/true")
	try.SysProcAttr = new(syscall.SysProcAttr)
	entered, ok := c.enter(try.SysProcAttr)
	if !ok {
		return false
	}
	defer entered()
	return try.Run() == nil
}

// cgroupMount finds where version 2 is mounted in the text of /proc/self/mountinfo
// (proc_pid_mountinfo(5)).
func cgroupMount(mountinfo string) string {
	for line := range strings.Lines(mountinfo) {
		mount, fstype, ok := strings.Cut(line, " - ")
		if fields := strings.Fields(mount); ok && strings.HasPrefix(fstype, "cgroup2 ") && len(fields) > 4 {
			return fields[4]
		}
	}
	return ""
}

// cgroupPath finds this process's group in the text of /proc/self/cgroup.
func cgroupPath(self string) string {
	for line := range strings.Lines(self) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}

// child returns a new group inside c.
func (c *cgroup) child(name string) *cgroup {
	if c == nil {
		return nil
	}
	child := &cgroup{path: filepath.Join(c.path, name)}
	if os.Mkdir(child.path, 0o755) != nil {
		return nil
	}
	return child
}

// enter makes the process that is started next with attr begin in the group.
func (c *cgroup) enter(attr *syscall.SysProcAttr) (entered func(), ok bool) {
	if c == nil {
		return nil, false
	}
	dir, err := os.Open(c.path)
	if err != nil {
		return nil, false
	}
	attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
	return func() { dir.Close() }, true
}

// processes returns the processes in the group and the groups inside it.
func (c *cgroup) processes() []int {
	if c == nil {
		return nil
	}
	var pids []int
	_ = filepath.WalkDir(c.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it was removed just now
		}
		procs, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for line := range strings.Lines(string(procs)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid != 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// kill kills all processes in the group and the groups inside it, at one stroke.
func (c *cgroup) kill() {
	if c != nil {
		_ = os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0)
	}
}

// remove removes the group and those inside it, as far as they are empty.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	entries, _ := os.ReadDir(c.path)
	for _, e := range entries {
		if e.IsDir() {
			(&cgroup{path: filepath.Join(c.path, e.Name())}).remove()
		}
	}
	os.Remove(c.path)
}
