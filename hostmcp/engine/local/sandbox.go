//go:build linux

package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Paths inside the sandbox.
const (
	insideHome      = "/home/computer" // as in the container image
	insideComputerd = "/opt/computer-use/computerd"
)

// systemDirs are the distribution's own files. On today's systems all but /usr are
// links into it.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcFiles are the parts of /etc that programs need and that hold no secret. What
// is not named here does not exist inside.
var etcFiles = []string{
	// names and addresses; passwd and group are generated
	"hosts", "host.conf", "gai.conf", "nsswitch.conf", "protocols", "services", "resolv.conf",
	// shared libraries and the choice between alternatives
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
	// certificates
	"ca-certificates", "ca-certificates.conf", "pki", "ssl/certs", "ssl/openssl.cnf",
	// time and language
	"localtime", "timezone", "locale.alias", "locale.conf", "default/locale",
	// shells
	"bash.bashrc", "bash_completion.d", "inputrc", "profile", "profile.d", "shells", "terminfo",
	// the desktop and its programs
	"X11", "chromium", "chromium.d", "dbus-1", "dconf", "dictionaries-common", "fonts", "glvnd", "gtk-2.0", "gtk-3.0", "gtk-4.0",
	"ImageMagick-6", "ImageMagick-7", "libreoffice", "magic", "mailcap", "menu", "menu-methods", "mime.types",
	"openal", "papersize", "pulse", "vdpau_wrapper.cfg", "xdg",
	// languages
	"java-17-openjdk", "java-21-openjdk", "perl", "python3", "python3.11", "python3.13", "debian_version", "os-release",
}

// daemonCapabilities are what the daemon needs as root to run programs as other
// users and to end them. All others are dropped, so that root inside cannot undo
// the sandbox's mounts.
var daemonCapabilities = []string{
	"CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_CHOWN", "CAP_FOWNER", "CAP_DAC_OVERRIDE",
	"CAP_SYS_PTRACE", // reads /proc/*/environ and cwd of programs
}

// bwrapArgs returns bubblewrap's arguments up to the command to run. The lock is
// descriptor lockFD of bubblewrap, which only its first process inside keeps.
//
// Without --die-with-parent the sandbox lives on when its starter ends.
func (e *Engine) bwrapArgs(computerd string, lockFD int) []string {
	args := []string{
		"--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try",
		"--sync-fd", strconv.Itoa(lockFD),
	}
	if os.Getuid() == 0 {
		args = append(args, "--cap-drop", "ALL")
		for _, capability := range daemonCapabilities {
			args = append(args, "--cap-add", capability)
		}
	} else {
		args = append(args, "--unshare-user")
	}
	for _, dir := range systemDirs {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	args = append(args,
		"--proc", "/proc",
		"--dev", "/dev",
		"--perms", "1777", "--tmpfs", "/dev/shm",
		"--perms", "1777", "--tmpfs", "/tmp",
		"--perms", "0755", "--tmpfs", "/run",
		"--perms", "1777", "--tmpfs", "/var/tmp",
		"--ro-bind-try", "/var/cache/fontconfig", "/var/cache/fontconfig",
	)
	// Folders on the way to a mount would get the mode of its source otherwise.
	for _, dir := range append(parents(e.state.daemon()), parents(insideHome)...) {
		args = append(args, "--perms", "0755", "--dir", dir)
	}
	args = append(args, "--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", filepath.Dir(insideComputerd))
	for _, name := range etcFiles {
		path := filepath.Join("/etc", name)
		// A link may lead out of /etc, as resolv.conf often does into /run.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			args = append(args, "--perms", "0755", "--dir", filepath.Dir(path), "--ro-bind", target, path)
		}
	}
	for name := range e.generatedEtc() {
		args = append(args, "--ro-bind", filepath.Join(e.state.path("etc"), name), filepath.Join("/etc", name))
	}
	return append(args,
		"--ro-bind", computerd, insideComputerd,
		"--bind", e.home, insideHome,
		// These have the same path inside and outside, so that what the daemon says
		// about its files, such as X authorities, is true for both.
		"--bind", e.state.daemon(), e.state.daemon(),
		"--ro-bind", e.state.path("token"), e.state.path("token"),
		"--remount-ro", "/dev",
		"--remount-ro", "/",
		"--chdir", insideHome,
	)
}

// parents returns the folders above path, the topmost first, without the root.
func parents(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		dirs = append([]string{dir}, dirs...)
	}
	return dirs
}

// generatedEtc returns the files of /etc that name the computer and its users
// instead of this machine and its users, and what its programs find otherwise than there.
func (e *Engine) generatedEtc() map[string]string {
	uid, gid := e.programIDs()
	passwd := "root:x:0:0:root:/root:/usr/sbin/nologin\n"
	group := "root:x:0:\n"
	if uid != 0 {
		passwd += fmt.Sprintf("computer:x:%d:%d:computer:%s:/bin/bash\n", uid, gid, insideHome)
		group += fmt.Sprintf("computer:x:%d:\n", gid)
	}
	if os.Getuid() == 0 {
		passwd += fmt.Sprintf("xserver:x:%d:%d:X server:/nonexistent:/usr/sbin/nologin\n", serverUID, serverUID)
		group += fmt.Sprintf("xserver:x:%d:\n", serverUID)
		for n := range 16 { // see display.Screen.User
			group += fmt.Sprintf("screen%d:x:%d:\n", n+1, screenGIDs+n+1)
		}
	}
	machine := sha256.Sum256([]byte(e.home)) // the same in every run, as D-Bus wants it
	return map[string]string{
		"machine-id": hex.EncodeToString(machine[:16]) + "\n",
		"passwd":     passwd + "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"group":      group + "nogroup:x:65534:\n",
		// pip install goes into home, as the system cannot be written, without being asked to.
		"pip.conf": "[global]\nbreak-system-packages = true\n",
	}
}

// programIDs returns the user and group id of agents' programs.
func (e *Engine) programIDs() (uid, gid int) {
	if os.Getuid() == 0 && !e.cfg.Unsafe {
		return programUID, programUID
	}
	return os.Getuid(), os.Getgid()
}
