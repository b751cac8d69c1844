// Package api is the wire between the host's MCP server and the daemon inside the
// computer: routes, JSON bodies, error codes and the protocol version. Both ends
// import it and neither imports the other.
//
// Requests and plain answers are JSON objects in snake_case. Pixels are screen
// pixels from the top left, times are milliseconds (names end in _ms) or RFC 3339
// UTC (names end in _at). The daemon refuses unknown fields, clients ignore them.
//
// A route that may answer with an image or report progress answers with
// multipart/mixed: any number of parts named "progress" (JSON, [Progress]), then one
// named "result" (JSON) or "error" (JSON, [Error]), then "image" parts (bytes of the
// named content type). The name stands in the part's Content-Disposition. An error
// that is known before the first part is a plain JSON [Error] with a 4xx or 5xx status.
package api

import "time"

// Protocol versions. A peer of another major version is refused with
// [CodeVersionMismatch]; a higher minor version only adds fields and routes.
const (
	ProtocolMajor = 1
	ProtocolMinor = 0
)

// Headers of every request but health.
const (
	// HeaderProtocol carries "major.minor".
	HeaderProtocol = "Computer-Use-Protocol"
	// HeaderComputer and HeaderHome carry the identity that the caller expects.
	// A mismatch is refused before anything changes. Both may be left out.
	HeaderComputer = "Computer-Use-Computer"
	HeaderHome     = "Computer-Use-Home"
)

// Routes. {id} is a session id of 32 lower-case hex digits, {owner} the id that a
// server process chose for itself, of the same form.
const (
	RouteHealth    = "GET /v1/health"
	RouteInfo      = "GET /v1/info"
	RouteHeartbeat = "POST /v1/owners/{owner}/heartbeat"
	RouteRelease   = "DELETE /v1/owners/{owner}"
	RouteStart     = "POST /v1/sessions"
	RouteEnd       = "DELETE /v1/sessions/{id}"
	RouteObserve   = "POST /v1/sessions/{id}/observe"
	RouteAct       = "POST /v1/sessions/{id}/act"
	RouteWait      = "POST /v1/sessions/{id}/wait"
	RouteConfigure = "POST /v1/sessions/{id}/configure"
	RouteHuman     = "POST /v1/sessions/{id}/human"
	RouteShow      = "POST /v1/sessions/{id}/show"
	RouteShutdown  = "POST /v1/shutdown"
)

// Limits that both ends check.
const (
	MaxTitle       = 80   // characters of a session's title
	MaxActions     = 24   // actions in one batch
	MaxTextRunes   = 4000 // characters typed by one batch
	MaxScroll      = 20   // steps of one scroll
	MaxRepeat      = 100  // repeats of one key action
	MaxScreens     = 16
	MinScreenSide  = 320  // pixels
	MaxScreenSide  = 7680 // pixels
	MinImageSide   = 64   // pixels, of the longest side of an image
	MaxWait        = 5 * time.Second
	MaxRequestBody = 1 << 20 // bytes of a JSON request body
)

// Names of the parts of a multipart answer.
const (
	PartProgress = "progress"
	PartResult   = "result"
	PartError    = "error"
	PartImage    = "image"
)

// FactsFile is the name of the file in the state folder where a daemon that serves
// leaves its Facts.
const FactsFile = "daemon.json"

// Facts say where a running daemon is reached. They hold no secret.
type Facts struct {
	PID        int    `json:"pid"`
	API        string `json:"api"`    // host:port of this API
	Viewer     string `json:"viewer"` // host:port of the viewer page, empty when none is served
	Version    string `json:"version"`
	Protocol   string `json:"protocol"`
	ComputerID string `json:"computer_id"`
	HomeID     string `json:"home_id"`
	Sandbox    string `json:"sandbox"` // what isolates the computer, in a few words; may be empty
	// NativeViewers is what VNC programs may do: control, watch or off.
	NativeViewers string `json:"native_viewers"`
}

// Health is the answer of RouteHealth, the one route without a token.
type Health struct {
	Name     string `json:"name"` // always "computerd"
	Version  string `json:"version"`
	Protocol string `json:"protocol"` // "major.minor"
}

// Info is the answer of RouteInfo.
type Info struct {
	Version    string    `json:"version"`
	Protocol   string    `json:"protocol"`
	ComputerID string    `json:"computer_id"`
	HomeID     string    `json:"home_id"`
	Network    string    `json:"network"` // internet or offline
	PID        int       `json:"pid"`
	StartedAt  time.Time `json:"started_at"`
	Viewer     string    `json:"viewer"` // link with key
	Sandbox    string    `json:"sandbox,omitempty"`
	Screens    []Screen  `json:"screens"`
	Sessions   []Session `json:"sessions"`
}

// Screen is one open screen.
type Screen struct {
	Number     int    `json:"number"`  // 1 to 16
	Display    string `json:"display"` // X display, ":5"
	Xauthority string `json:"xauthority"`
	XvfbPID    int    `json:"xvfb_pid"`
	VNCPort    int    `json:"vnc_port"` // 0 when no port is served
	Session    string `json:"session"`
	Title      string `json:"title"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
}

// Session is one agent's stay on the computer.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Owner     string    `json:"owner"`
	Screen    int       `json:"screen"` // 0 while none is open
	StartedAt time.Time `json:"started_at"`
}

// Progress is one report of long work.
type Progress struct {
	Message string  `json:"message"`
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // 0 when unknown
}
