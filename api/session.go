package api

import "time"

// Liveness of owners. A server process sends a heartbeat for all its sessions every
// HeartbeatEvery; they end OwnerTimeout after the last one.
const (
	HeartbeatEvery = 10 * time.Second
	OwnerTimeout   = 30 * time.Second
)

// Defaults of StartRequest.
const (
	DefaultScreenSize = "1280x800"
	DefaultIdle       = time.Hour
	DefaultElideTTL   = 45 * time.Second
	DefaultMaxSide    = 2000 // pixels
)

// HeartbeatResult is the answer of RouteHeartbeat and RouteRelease.
type HeartbeatResult struct {
	Sessions int `json:"sessions"` // how many sessions the owner has, or had
}

// StartRequest opens a session. The owner's settings travel with it, so that a
// bad value is refused where it is first needed.
type StartRequest struct {
	Title       string `json:"title"`
	Owner       string `json:"owner"`
	ScreenSize  string `json:"screen_size,omitempty"` // "1280x800"
	IdleMS      int64  `json:"idle_ms,omitempty"`
	ElideTTLMS  *int64 `json:"elide_ttl_ms,omitempty"` // nil is 45 s, 0 never leaves an image out
	MaxSide     int    `json:"max_side,omitempty"`     // longest side of an image in pixels, 0 is 2000
	ImageFormat string `json:"image_format,omitempty"` // auto, png or jpeg
	// JPEGQuality is the highest quality of a JPEG, 1 to 100; 0 is 80.
	JPEGQuality int `json:"jpeg_quality,omitempty"`
	// AutoIgnoreMS is how long a part of the screen that never rests is left out of
	// account; nil is 30 s, 0 never leaves one out.
	AutoIgnoreMS *int64 `json:"auto_ignore_ms,omitempty"`
	// How long a shell command may take unless its call says otherwise, and at most.
	// 0 is DefaultShellTimeout, or the maximum when that is shorter, and
	// DefaultShellTimeoutMax.
	ShellTimeoutMS    int64 `json:"shell_timeout_ms,omitempty"`
	ShellTimeoutMaxMS int64 `json:"shell_timeout_max_ms,omitempty"`
}

// StartResult describes the session that was opened.
type StartResult struct {
	Session    string   `json:"session"`
	Viewer     string   `json:"viewer"`
	ComputerID string   `json:"computer_id"`
	HomeID     string   `json:"home_id"`
	Network    string   `json:"network"`
	Notes      []string `json:"notes"`
}

// EndResult is the answer of RouteEnd.
type EndResult struct {
	Ended bool `json:"ended"`
}

// ShowRequest waits until the session has a screen and asks how a person at the host can
// see it. Page asks to bring it before them on a viewer page that is open.
type ShowRequest struct {
	Page bool `json:"page"`
}

// ShowResult is the answer of RouteShow.
type ShowResult struct {
	Screen  int    `json:"screen"`
	Viewer  string `json:"viewer"`   // link with key to this screen, empty when no page is served
	VNCPort int    `json:"vnc_port"` // 0 when no port is served
	Shown   bool   `json:"shown"`    // a page shows it, or one is being opened
}
