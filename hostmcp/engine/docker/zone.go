package docker

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// timeZone returns this machine's time zone in the form of the variable TZ, empty for
// UTC.
func timeZone(getenv func(string) string) string {
	if tz := strings.TrimPrefix(getenv("TZ"), ":"); tz != "" && !strings.HasPrefix(tz, "/") {
		return tz
	}
	if tz := zoneName("/etc/localtime", "/etc/timezone"); tz != "" {
		return tz
	}
	// Windows names zones in its own way. The offset of today is better than nothing.
	_, offset := time.Now().Zone()
	return zoneOfOffset(offset)
}

// zoneName returns the name of the zone whose file the link leads to, as on Linux and
// macOS, or else the one that Debian's file holds.
func zoneName(link, debian string) string {
	if target, err := os.Readlink(link); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			return name
		}
	}
	name, _ := os.ReadFile(debian)
	return strings.TrimSpace(string(name))
}

// zoneOfOffset writes seconds east of UTC as a POSIX zone, which counts westward:
// "<+0530>-5:30".
func zoneOfOffset(east int) string {
	if east == 0 {
		return ""
	}
	name, count := '+', '-'
	if east < 0 {
		name, count, east = '-', '+', -east
	}
	hours, minutes := east/3600, east/60%60
	return fmt.Sprintf("<%c%02d%02d>%c%d:%02d", name, hours, minutes, count, hours, minutes)
}
