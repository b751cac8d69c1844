package shell

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/falleng0d/computer-use-mcp/display/supervise"
)

// entry is what /proc says of a process that lives.
type entry struct {
	pid, parent, session int
}

// marked returns the processes that have the mark in their environment, those of
// leader's session unless leader is 0, and all that descend from either. user, if not
// nil, is whose processes most of them are. seen is called with those that are found by
// themselves, at once.
func marked(mark string, leader int, user *supervise.Credential, seen func(pid int)) []int {
	var all []entry
	in := map[int]bool{}
	var denied []int
	for pid := range numbers() {
		p, ok := readStat(pid)
		if !ok {
			continue
		}
		all = append(all, p)
		has, err := hasVariable(pid, mark)
		if has || leader != 0 && p.session == leader {
			in[pid] = true
			seen(pid)
		} else if errors.Is(err, fs.ErrPermission) {
			denied = append(denied, pid)
		}
	}
	for _, pid := range denied {
		has := false
		asOwner(pid, user, func() { has, _ = hasVariable(pid, mark) })
		if has {
			in[pid] = true
			seen(pid)
		}
	}
	for grown := len(in) > 0; grown; {
		grown = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], grown = true, true
			}
		}
	}
	pids := make([]int, 0, len(in))
	for pid := range in {
		pids = append(pids, pid)
	}
	return pids
}

// numbers walks through the numbers of all processes. The kernel lists them by rising
// number, and a small buffer at a time: what a process starts before it ends comes up in
// the same walk, as its number is higher, unless the numbers have just begun again.
func numbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		proc, err := os.Open("/proc")
		if err != nil {
			return
		}
		defer proc.Close()
		var buf [256]byte
		for {
			n, err := unix.ReadDirent(int(proc.Fd()), buf[:])
			if err != nil || n <= 0 {
				return
			}
			_, _, names := unix.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
					return
				}
			}
		}
	}
}

// readStat reads /proc/pid/stat (proc_pid_stat(5)). It reports false for a process that
// has ended.
func readStat(pid int) (p entry, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	// The second field, the name, may hold anything. It ends at the last bracket.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return p, false
	}
	p.pid = pid
	p.parent, _ = strconv.Atoi(string(fields[1]))
	p.session, _ = strconv.Atoi(string(fields[3]))
	return p, true
}

// hasVariable reports whether a process started with NAME=value in its environment.
func hasVariable(pid int, variable string) (bool, error) {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false, err
	}
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if string(v) == variable {
			return true, nil
		}
	}
	return false, nil
}

// asOwner calls f with the rights that a process has itself as far as /proc goes, if it
// is user's. Root may not see the environments of others without CAP_SYS_PTRACE or
// CAP_PERFMON, which containers lack (ptrace(2), "Ptrace access mode checking"); their
// user may, in their group.
func asOwner(pid int, user *supervise.Credential, f func()) {
	var owner unix.Stat_t
	if user == nil || unix.Stat("/proc/"+strconv.Itoa(pid), &owner) != nil || owner.Uid != user.UID {
		return
	}
	runtime.LockOSThread() // the rights are one thread's
	defer runtime.UnlockOSThread()
	unix.Setfsgid(int(owner.Gid))
	unix.Setfsuid(int(owner.Uid))
	defer unix.Setfsgid(os.Getegid())
	defer unix.Setfsuid(os.Geteuid())
	f()
}
