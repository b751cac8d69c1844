package transfer

import (
	"runtime"
	"strings"
	"unicode/utf8"
)

// rules are what the destination's system forbids in names. The zero value is Linux,
// which forbids nothing.
type rules struct {
	windows bool // what Windows forbids
	fold    bool // names that differ in case only are the same
}

// localRules are those of this system.
var localRules = rules{windows: runtime.GOOS == "windows", fold: runtime.GOOS == "windows" || runtime.GOOS == "darwin"}

// refuse says why a name cannot be used, empty when it can.
func (r rules) refuse(name string) string {
	if !r.windows {
		return ""
	}
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8, which Windows cannot store"
	case strings.ContainsAny(name, `:?*"<>|\`):
		return `Windows does not allow : ? * " < > | \ in a name`
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' }):
		return "Windows does not allow control characters in a name"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "Windows does not allow a dot or a space at the end of a name"
	case isDevice(name):
		return "Windows keeps the name for a device"
	}
	return ""
}

// isDevice reports whether Windows takes a name for a device, whatever stands behind
// the first dot.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(base, "COM")
	if !ok {
		port, ok = strings.CutPrefix(base, "LPT")
	}
	// The superscripts are digits to Windows.
	return ok && strings.Contains("0123456789¹²³", port) && utf8.RuneCountInString(port) == 1
}

// key returns what is the same for names that the system takes for the same.
func (r rules) key(name string) string {
	if r.fold {
		return strings.ToLower(name)
	}
	return name
}
