package hostmcp

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Setting is one environment variable. The documentation of settings is made of
// this table.
type Setting struct {
	Name    string
	Default string // the value of an unset or empty variable
	Form    string // what is accepted, for messages and documentation
	Doc     string
	check   func(value string) error
}

// Names of the settings that other packages read.
const (
	SettingName     = "COMPUTER_USE_NAME"
	SettingEngine   = "COMPUTER_USE_ENGINE"
	SettingImage    = "COMPUTER_USE_IMAGE"
	SettingSandbox  = "COMPUTER_USE_LOCAL_SANDBOX"
	SettingNetwork  = "COMPUTER_USE_NETWORK"
	SettingPublish  = "COMPUTER_USE_PUBLISH"
	SettingPortBase = "COMPUTER_USE_PORT_BASE"
	SettingLog      = "COMPUTER_USE_LOG"
	SettingNative   = "COMPUTER_USE_NATIVE_VIEWERS"
)

const (
	settingScreenSize  = "COMPUTER_USE_SCREEN_SIZE"
	settingIdle        = "COMPUTER_USE_IDLE_TIMEOUT"
	settingElideTTL    = "COMPUTER_USE_ELIDE_TTL"
	settingMaxSide     = "COMPUTER_USE_IMAGE_MAX_SIDE"
	settingImageFormat = "COMPUTER_USE_IMAGE_FORMAT"
	settingQuality     = "COMPUTER_USE_IMAGE_QUALITY"
	settingAutoIgnore  = "COMPUTER_USE_AUTO_IGNORE"
	settingTools       = "COMPUTER_USE_TOOLS"
	settingOpen        = "COMPUTER_USE_OPEN"
	settingVNCViewer   = "COMPUTER_USE_VNC_VIEWER"
	settingShell       = "COMPUTER_USE_SHELL_TIMEOUT"
	settingShellMax    = "COMPUTER_USE_SHELL_TIMEOUT_MAX"

	settingDevToolsIdle = "COMPUTER_USE_DEVTOOLS_IDLE"
)

// SettingTable holds every setting, in the order of the documentation.
var SettingTable = []Setting{
	{
		Name: SettingEngine, Default: "docker", Form: "docker or local",
		Doc:   "Where the computer runs: in a container, or in a sandbox on this Linux machine.",
		check: oneOf("docker", "local"),
	},
	{
		Name: SettingName, Default: "computer-use", Form: "letters, digits, '_', '.' and '-', at most 63, the first a letter or digit",
		Doc:   "Name of the computer. Two names are two computers, each with a home of its own.",
		check: checkName,
	},
	{
		Name: SettingImage, Default: "auto", Form: "auto, or the name of an image",
		Doc: "Image of the Docker engine's computer. auto is the one of this version, which a release pulls, " +
			"and computer-use-mcp:dev for a development build, which `make image` builds.",
		check: checkImage,
	},
	{
		Name: SettingSandbox, Default: "on", Form: "on or off",
		Doc: "Sandbox of the local engine. off is unsafe: agents' programs can then do to this machine " +
			"whatever its user can.",
		check: oneOf("on", "off"),
	},
	{
		Name: SettingNetwork, Default: "internet", Form: "internet or offline",
		Doc:   "What the computer's programs reach. Chosen when the computer is created.",
		check: oneOf("internet", "offline"),
	},
	{
		Name: SettingPublish, Default: "on", Form: "on or off",
		Doc: "Whether Docker publishes the computer's ports on 127.0.0.1. off reaches it through the Docker API, as is " +
			"always done with an engine on another machine; viewers then need this server.",
		check: oneOf("on", "off"),
	},
	{
		Name: SettingPortBase, Default: "20900", Form: "a number from 1024 to 65519",
		Doc: "First of 17 ports on 127.0.0.1: the viewer page, then the VNC ports of screens 1 to 16. " +
			"Chosen when the computer starts, or when its container is made.",
		check: inRange(1024, 65519),
	},
	{
		Name: SettingNative, Default: "control", Form: "control, watch or off",
		Doc: "What VNC programs may do: take control with the first key or button, only watch, or nothing: then " +
			"no port is open for them. Chosen when the computer starts, or when its container is made.",
		check: oneOf("control", "watch", "off"),
	},
	{
		Name: settingOpen, Default: "browser", Form: "browser, vnc or none",
		Doc: "What shows a session's screen to you when it opens: the viewer page, a VNC program (Screen Sharing on " +
			"macOS, else TigerVNC's viewer; the browser where there is none), or nothing.",
		check: oneOf("browser", "vnc", "none"),
	},
	{
		Name: settingVNCViewer, Default: "auto", Form: "auto, or the path of a program",
		Doc:   "The VNC program that COMPUTER_USE_OPEN=vnc runs on Windows and Linux. auto looks for one.",
		check: func(string) error { return nil }, // whether it is there shows when it is needed
	},
	{
		Name: settingScreenSize, Default: api.DefaultScreenSize, Form: "<width>x<height>, each side 320 to 7680 pixels",
		Doc:   "Size of a session's screen.",
		check: func(v string) error { _, _, err := api.ParseScreenSize(v); return err },
	},
	{
		Name: settingIdle, Default: "1h", Form: durationForm + ", above 0",
		Doc:   "A session without a call for this long ends.",
		check: positiveDuration,
	},
	{
		Name: settingElideTTL, Default: "45s", Form: durationForm + "; 0 never leaves an image out",
		Doc:   "An unchanged image is left out of an answer while the last one that was sent is younger than this.",
		check: func(v string) error { _, err := parseDuration(v); return err },
	},
	{
		Name: settingMaxSide, Default: "2000", Form: "a number from 64 to 7680",
		Doc:   "Longest side of an image in pixels. Larger screens are scaled down and the answer says the scale.",
		check: inRange(api.MinImageSide, api.MaxScreenSide),
	},
	{
		Name: settingImageFormat, Default: "auto", Form: "auto, png or jpeg",
		Doc:   "Format of images. auto is PNG, and JPEG where PNG would be large.",
		check: oneOf("auto", "png", "jpeg"),
	},
	{
		Name: settingQuality, Default: "80", Form: "a number from 1 to 100",
		Doc:   "Quality of JPEG images; it is lowered where one would be too large for clients.",
		check: inRange(1, 100),
	},
	{
		Name: settingAutoIgnore, Default: "30s", Form: durationForm + "; 0 never leaves a part out",
		Doc:   "A part of the screen that kept moving after two actions in a row does not count for this long.",
		check: func(v string) error { _, err := parseDuration(v); return err },
	},
	{
		Name: settingShell, Default: "120s", Form: durationForm + ", above 0 and not more than " + settingShellMax,
		Doc:   "How long a shell command may take unless the agent says otherwise. If only the maximum is set, and shorter, it is that.",
		check: positiveDuration,
	},
	{
		Name: settingShellMax, Default: "600s", Form: durationForm + ", above 0",
		Doc:   "The longest that an agent may let a shell command take.",
		check: positiveDuration,
	},
	{
		Name: settingDevToolsIdle, Default: "10m", Form: durationForm + ", above 0",
		Doc:   "Chrome DevTools without a call for this long ends itself. Read when start_chrome_devtools runs.",
		check: positiveDuration,
	},
	{
		Name: settingTools, Default: "all", Form: "all, or names of tools separated by commas",
		Doc:   "The tools that agents may use. start_computer and end_session always work.",
		check: func(string) error { return nil }, // Server.allowedTools knows the names
	},
	{
		Name: SettingLog, Default: "warn", Form: "debug, info, warn or error",
		Doc:   "What is logged to stderr. debug also makes a computer that is started log in detail; see `computer-use-mcp logs`.",
		check: oneOf("debug", "info", "warn", "error"),
	},
}

// Settings reads settings from an environment. A bad value is an error where it is
// first needed, never at the start, so that an agent can see and report it.
type Settings struct {
	getenv func(string) string
}

// NewSettings returns the settings of an environment such as [os.Getenv]; nil is
// this process's.
func NewSettings(getenv func(string) string) *Settings {
	if getenv == nil {
		getenv = os.Getenv
	}
	return &Settings{getenv: getenv}
}

// Get returns the checked value of the setting, which must be in [SettingTable].
// Its error is an [api.Error] of CodeBadRequest that names the variable, its value
// and what is accepted.
func (s *Settings) Get(name string) (string, error) {
	setting := lookUp(name)
	value := strings.TrimSpace(s.getenv(name))
	if value == "" {
		return setting.Default, nil
	}
	if err := setting.check(value); err != nil {
		return "", badSetting(setting, value)
	}
	return value, nil
}

// duration returns the value of a setting that is one.
func (s *Settings) duration(name string) (time.Duration, error) {
	value, err := s.Get(name)
	if err != nil {
		return 0, err
	}
	return parseDuration(value)
}

// notSettings are variables that are ours and no settings. The daemon sets the first four
// for programs that it starts, bench reads the next, and image/compose.yaml the last.
var notSettings = []string{"COMPUTER_USE_SESSION", "COMPUTER_USE_CALL", "COMPUTER_USE_DESKTOP", "COMPUTER_USE_SANDBOX", "COMPUTER_USE_BENCH", "COMPUTER_USE_PORTS"}

// CheckNames returns an error for each variable of an environment, such as [os.Environ]
// returns it, that looks like a setting and is none. They have no effect.
func CheckNames(environ []string) (unknown []*api.Error) {
	var names []string
	for _, s := range SettingTable {
		names = append(names, s.Name)
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "COMPUTER_USE_") || slices.Contains(names, name) || slices.Contains(notSettings, name) {
			continue
		}
		fix := "Remove it, or correct its name: `computer-use-mcp help` lists the settings."
		if near := api.Nearest(name, names, 1)[0]; api.Edits(near, name) <= 3 {
			fix = "Did you mean " + near + "? Correct or remove it."
		}
		unknown = append(unknown, api.Errorf(api.CodeBadRequest, "The environment variable %.100s is no setting and has no effect.", name).WithFix("%s", fix))
	}
	return unknown
}

func badSetting(s Setting, value string) *api.Error {
	return api.Errorf(api.CodeBadRequest, "The environment variable %s is %.100q, which is not accepted: it must be %s.", s.Name, value, s.Form).
		WithFix("Correct it in the client's configuration of this MCP server, then restart the server.")
}

// IsSet reports whether the variable has a value of its own.
func (s *Settings) IsSet(name string) bool { return strings.TrimSpace(s.getenv(name)) != "" }

// LogLevel returns the level to log at. A bad value counts as the default here;
// start_computer reports it.
func (s *Settings) LogLevel() slog.Level {
	value, err := s.Get(SettingLog)
	if err != nil {
		value = lookUp(SettingLog).Default
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(value)) // the table accepts no other
	return level
}

// startRequest fills in what a new session takes from the settings.
func (s *Settings) startRequest(r *api.StartRequest) error {
	// Every setting is read, so that one call tells of any that is wrong.
	values := map[string]string{}
	for _, setting := range SettingTable {
		value, err := s.Get(setting.Name)
		if err != nil {
			return err
		}
		values[setting.Name] = value
	}
	idle, _ := parseDuration(values[settingIdle])
	elide, _ := parseDuration(values[settingElideTTL])
	elideMS := elide.Milliseconds()
	r.ScreenSize = values[settingScreenSize]
	r.IdleMS = idle.Milliseconds()
	r.ElideTTLMS = &elideMS
	r.MaxSide, _ = strconv.Atoi(values[settingMaxSide])
	r.ImageFormat = values[settingImageFormat]
	// These came after the first version of the protocol. A computer that runs may be of
	// that one still, and refuses what it does not know; it has the same defaults.
	if s.IsSet(settingQuality) {
		r.JPEGQuality, _ = strconv.Atoi(values[settingQuality])
	}
	if s.IsSet(settingAutoIgnore) {
		ignore, _ := parseDuration(values[settingAutoIgnore])
		ms := ignore.Milliseconds()
		r.AutoIgnoreMS = &ms
	}
	return s.shellTimeouts(r, values)
}

// shellTimeouts fills in how long commands may take.
func (s *Settings) shellTimeouts(r *api.StartRequest, values map[string]string) error {
	most, _ := parseDuration(values[settingShellMax])
	normal, _ := parseDuration(values[settingShell])
	if !s.IsSet(settingShell) {
		normal = min(normal, most)
	}
	if normal > most {
		return badSetting(lookUp(settingShell), values[settingShell])
	}
	r.ShellTimeoutMS, r.ShellTimeoutMaxMS = normal.Milliseconds(), most.Milliseconds()
	return nil
}

func lookUp(name string) Setting {
	i := slices.IndexFunc(SettingTable, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		panic("hostmcp: no setting " + name)
	}
	return SettingTable[i]
}

const durationForm = "a number of seconds, or a number with s, m or h"

// parseDuration reads the forms of durationForm.
func parseDuration(value string) (time.Duration, error) {
	unit := time.Second
	number := value
	for suffix, u := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour} {
		if n, ok := strings.CutSuffix(value, suffix); ok {
			number, unit = n, u
		}
	}
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not %s", value, durationForm)
	}
	if d := time.Duration(n) * unit; d <= 365*24*time.Hour {
		return d, nil
	}
	return 0, fmt.Errorf("%q is more than a year", value)
}

func positiveDuration(value string) error {
	d, err := parseDuration(value)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q is no time at all", value)
	}
	return err
}

func oneOf(accepted ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(accepted, value) {
			return nil
		}
		return fmt.Errorf("%q is unknown", value)
	}
}

func inRange(low, high int) func(string) error {
	return func(value string) error {
		n, err := strconv.Atoi(value)
		if err == nil && (n < low || n > high) {
			err = fmt.Errorf("%d is outside the range", n)
		}
		return err
	}
}

func checkName(value string) error {
	for i, r := range value {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("_.-", r)) {
			return fmt.Errorf("character %q", r)
		}
	}
	if len(value) > 63 {
		return fmt.Errorf("%d characters", len(value))
	}
	return nil
}

func checkImage(value string) error {
	if strings.ContainsAny(value, " \t\"'") || strings.HasPrefix(value, "-") {
		return fmt.Errorf("%q is not the name of an image", value)
	}
	return nil
}

func splitNames(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}
