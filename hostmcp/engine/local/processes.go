//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// holders returns the processes of the computer that keep its lock, in this
// machine's numbering: the first process of its sandbox, or without one the daemon
// and whatever inherited the descriptor. A server that is only trying the lock
// is told apart by its descriptor, which closes on exec; an inherited one does not.
func (d stateDir) holders() []int {
	lock, err := os.Stat(d.path("lock"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, pid := range allPIDs() {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		descriptors, err := os.ReadDir(filepath.Join(proc, "fd"))
		if err != nil {
			continue // gone, or another user's
		}
		for _, fd := range descriptors {
			info, err := os.Stat(filepath.Join(proc, "fd", fd.Name()))
			if err == nil && os.SameFile(info, lock) && !closesOnExec(filepath.Join(proc, "fdinfo", fd.Name())) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// closesOnExec reads the flags, in octal, of a descriptor from its fdinfo file.
func closesOnExec(fdinfo string) bool {
	data, _ := os.ReadFile(fdinfo)
	_, line, _ := strings.Cut(string(data), "flags:")
	line, _, _ = strings.Cut(line, "\n")
	flags, err := strconv.ParseUint(strings.TrimSpace(line), 8, 64)
	return err != nil || flags&syscall.O_CLOEXEC != 0
}

// namespacePIDs maps the process ids inside the pid namespace of process first to
// those of this machine. In this machine's own namespace both are the same.
func namespacePIDs(first int) map[int]int {
	namespace := func(pid int) string {
		name, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/pid"))
		return name
	}
	own := namespace(first)
	pids := map[int]int{}
	for _, pid := range allPIDs() {
		if own == "" || namespace(pid) != own {
			continue
		}
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		if err != nil {
			continue
		}
		// "NSpid:" lists the id in every nested namespace, the innermost last.
		_, line, _ := strings.Cut(string(status), "\nNSpid:")
		line, _, _ = strings.Cut(line, "\n")
		ids := strings.Fields(line)
		if len(ids) == 0 {
			continue
		}
		if inner, err := strconv.Atoi(ids[len(ids)-1]); err == nil {
			pids[inner] = pid
		}
	}
	return pids
}

func allPIDs() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends a process at once. The end of a sandbox's first process is the end of
// all processes in it.
func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
