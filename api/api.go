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

// Region is a rectangle in screen pixels.
type Region struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Point is a place in screen pixels.
type Point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// ImageOptions choose the picture of an answer.
type ImageOptions struct {
	Region  *Region `json:"region,omitempty"`
	MaxSide int     `json:"max_side,omitempty"` // pixels; 0 is the session's limit
	Format  string  `json:"format,omitempty"`   // png, jpeg or empty for the session's choice
	Cursor  *bool   `json:"cursor,omitempty"`   // default true: the pointer is drawn in
}

// ObserveRequest asks for the session's screen.
type ObserveRequest struct {
	Force bool `json:"force,omitempty"` // send the image even when nothing changed
	ImageOptions
}

// Observation is what an agent learns of its screen: the result of observe and
// the closing part of act, wait and others. The image itself is a part of its own.
type Observation struct {
	Frame        Frame    `json:"frame"`
	Image        Image    `json:"image"`
	Cursor       Point    `json:"cursor"`
	ActiveWindow string   `json:"active_window"`
	Windows      []Window `json:"windows"`
	Human        Human    `json:"human"`
	Settle       *Settle  `json:"settle,omitempty"`
	// Notes are sentences for the model: the screen was reopened, a window
	// manager came back, a human acted.
	Notes []string `json:"notes,omitempty"`
}

// Frame names the screen state that an answer describes.
type Frame struct {
	ID         uint64    `json:"id"` // generation, comparable within one epoch
	Epoch      uint64    `json:"epoch"`
	CapturedAt time.Time `json:"captured_at"`
	Width      int       `json:"width"` // of the screen
	Height     int       `json:"height"`
}

// States of Image.
const (
	ImageSent      = "sent"
	ImageUnchanged = "unchanged"
	ImageNone      = "none"
)

// Image describes the picture of an answer, or why there is none.
type Image struct {
	State        string  `json:"state"`
	Width        int     `json:"width"` // of the picture; 0 when none was sent
	Height       int     `json:"height"`
	Scale        float64 `json:"scale"` // picture pixels per screen pixel
	Format       string  `json:"format,omitempty"`
	Bytes        int     `json:"bytes"`
	Region       *Region `json:"region,omitempty"` // the part of the screen shown, when not all of it
	PatchesFrame uint64  `json:"patches_frame,omitempty"`
	AgeMS        int64   `json:"age_ms"` // age of the last image this session received; 0 when sent
	// Changed bounds what changed since the last image this session received.
	Changed *Region `json:"changed,omitempty"`
}

// Window is one top-level window.
type Window struct {
	Title   string `json:"title"`
	Class   string `json:"class"`
	X       int    `json:"x"`
	Y       int    `json:"y"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Focused bool   `json:"focused"`
	Hidden  bool   `json:"hidden,omitempty"` // minimised, or on another workspace
}

// Human says what a person did to the screen.
type Human struct {
	InControl          bool       `json:"in_control"`
	ActedSinceLastCall bool       `json:"acted_since_last_call"`
	SinceAt            *time.Time `json:"since_at,omitempty"`
}

// Settle holds the settling values in force and the regions that are left out.
type Settle struct {
	QuietMS        int64    `json:"quiet_ms"`
	ReactMS        int64    `json:"react_ms"`
	MaxWaitMS      int64    `json:"max_wait_ms"`
	ResidualBailMS int64    `json:"residual_bail_ms"`
	Pinned         []string `json:"pinned"` // names of the values set by configure
	IgnoreRegions  []Region `json:"ignore_regions"`
	AutoIgnored    []Region `json:"auto_ignored"`
}

// Kinds of Action.
const (
	KindClick  = "click"
	KindMove   = "move"
	KindDown   = "down"
	KindUp     = "up"
	KindDrag   = "drag"
	KindType   = "type"
	KindKey    = "key"
	KindScroll = "scroll"
	KindWait   = "wait"
	KindFocus  = "focus"
)

// Action is one step of a batch. Which fields a kind takes stands in
// [Action.Check]; all others must be absent.
type Action struct {
	Kind        string   `json:"kind"`
	X           *int     `json:"x,omitempty"`
	Y           *int     `json:"y,omitempty"`
	ToX         *int     `json:"to_x,omitempty"`
	ToY         *int     `json:"to_y,omitempty"`
	Button      string   `json:"button,omitempty"` // left, middle, right, back, forward
	Double      bool     `json:"double,omitempty"`
	Modifiers   []string `json:"modifiers,omitempty"`
	DurationMS  *int64   `json:"duration_ms,omitempty"`
	Text        *string  `json:"text,omitempty"`
	Key         string   `json:"key,omitempty"`
	Repeat      *int     `json:"repeat,omitempty"`
	HoldMS      *int64   `json:"hold_ms,omitempty"`
	Direction   string   `json:"direction,omitempty"` // up, down, left, right
	Amount      *int     `json:"amount,omitempty"`
	MS          *int64   `json:"ms,omitempty"`
	Application string   `json:"application,omitempty"`
	URI         string   `json:"uri,omitempty"`
	Settle      string   `json:"settle,omitempty"` // off, or empty for the batch's choice
}

// Values of ActRequest. The first of each group is the default.
const (
	SettleAuto = "auto" // wait until the screen has reacted and is still
	SettleOff  = "off"  // do not wait

	StopAuto   = "auto"   // stop when a click or a key has no visible effect
	StopNever  = "never"  // go on whatever happens
	StopAlways = "always" // stop when any action has no visible effect

	ScreenshotFinal = "final" // one image, after the last action
	ScreenshotEach  = "each"  // an image after every action
	ScreenshotNone  = "none"  // an image only when the batch stopped early

	PictureFull = "full" // the whole screen, or the region asked for
	PictureAuto = "auto" // only what changed, when that is a small part
	PictureCrop = "crop" // only what changed since the last image
	PictureNone = "none" // no image
)

// ActRequest runs a batch of actions and answers with the screen after it.
type ActRequest struct {
	Actions          []Action `json:"actions"`
	Observe          *bool    `json:"observe,omitempty"`             // default true
	Settle           string   `json:"settle,omitempty"`              // auto (default) or off
	SettleMS         *int64   `json:"settle_ms,omitempty"`           // a fixed wait after the last step instead
	StopOnNoReaction string   `json:"stop_on_no_reaction,omitempty"` // auto (default), never, always
	Screenshot       string   `json:"screenshot,omitempty"`          // final (default), each, none
	Image            string   `json:"image,omitempty"`               // full (default), auto, crop, none
	ImageOptions
}

// Verdicts of a step.
const (
	VerdictSettled    = "settled"
	VerdictNoReaction = "no_reaction"
	VerdictResidual   = "residual"
	VerdictTimeout    = "timeout"
	VerdictSkipped    = "skipped" // the step ran and nothing was waited for
)

// Step is what happened to one action that ran.
type Step struct {
	Index    int     `json:"index"` // counted from 0
	Kind     string  `json:"kind"`
	Verdict  string  `json:"verdict"`
	Reacted  bool    `json:"reacted"`
	WaitedMS int64   `json:"waited_ms"`
	Region   *Region `json:"region,omitempty"` // what moved
	// Ignored says that Region, of a residual verdict, is left out of account for
	// a while.
	Ignored bool `json:"ignored,omitempty"`
	// Busy says that the program still announced work at a timeout.
	Busy bool `json:"busy,omitempty"`
	// Image describes the picture taken after the step, when one was asked for
	// each. The image parts come in the order of the steps, the closing one last.
	Image *Image `json:"image,omitempty"`
}

// Stopped says why a batch ended before its last action.
type Stopped struct {
	At     int    `json:"at"`
	Why    string `json:"why"`
	Done   []int  `json:"done"`
	NotRun []int  `json:"not_run"`
	Hint   string `json:"hint"`
}

// ActResult is the answer of RouteAct.
type ActResult struct {
	Steps   []Step   `json:"steps"`
	Stopped *Stopped `json:"stopped,omitempty"`
	Observation
}

// Conditions of WaitRequest. The first is the default.
const (
	WaitStill  = "still"  // nothing moves inside the region, or on the whole screen
	WaitChange = "change" // something changes there
	WaitWindow = "window" // a window's title holds the text
	WaitFile   = "file"   // the path exists
	WaitPort   = "port"   // something listens on the port of the computer's loopback
)

// Time limits of a wait for a condition.
const (
	DefaultWaitTimeout = 10 * time.Second
	MaxWaitTimeout     = 5 * time.Minute
)

// WaitRequest waits for a condition on the session's screen or computer.
type WaitRequest struct {
	For       string  `json:"for,omitempty"` // still (default), change, window, file, port
	Region    *Region `json:"region,omitempty"`
	Title     string  `json:"title,omitempty"`
	Path      string  `json:"path,omitempty"`
	Port      int     `json:"port,omitempty"`
	TimeoutMS *int64  `json:"timeout_ms,omitempty"`
}

// WaitResult is the answer of RouteWait.
type WaitResult struct {
	Met      bool    `json:"met"`
	WaitedMS int64   `json:"waited_ms"`
	Region   *Region `json:"region,omitempty"` // what changed, or still moved
	Observation
}

// Outcomes of HumanResult.
const (
	HumanHandedBack = "handed_back" // a person has taken control and given it back
	HumanDeclined   = "declined"
	HumanTimedOut   = "timed_out" // nobody answered
)

// Limits of HumanRequest.
const (
	MaxReason           = 500 // characters
	DefaultHumanTimeout = 5 * time.Minute
	MaxHumanTimeout     = time.Hour
)

// HumanRequest asks a person to take over the session's screen for a while.
type HumanRequest struct {
	Reason    string `json:"reason"` // for the person, 1 to MaxReason characters
	TimeoutMS *int64 `json:"timeout_ms,omitempty"`
}

// HumanResult is the answer of RouteHuman.
type HumanResult struct {
	Outcome string `json:"outcome"`
	Observation
}

// Ranges of the times that ConfigureRequest pins, inclusive.
const (
	MinQuiet        = 50 * time.Millisecond
	MaxQuiet        = 5 * time.Second
	MinReact        = 0
	MaxReact        = 10 * time.Second
	MinSettle       = 500 * time.Millisecond // of max_wait_ms
	MaxSettle       = 60 * time.Second
	MinResidualBail = 500 * time.Millisecond
	MaxResidualBail = 10 * time.Second
	MaxIgnored      = 32 // ignore_regions
)

// ConfigureRequest pins settling values for the session. Absent fields stay as
// they are; an empty list of regions also clears those found automatically.
type ConfigureRequest struct {
	QuietMS        *int64    `json:"quiet_ms,omitempty"`
	ReactMS        *int64    `json:"react_ms,omitempty"`
	MaxWaitMS      *int64    `json:"max_wait_ms,omitempty"`
	ResidualBailMS *int64    `json:"residual_bail_ms,omitempty"`
	IgnoreRegions  *[]Region `json:"ignore_regions,omitempty"`
}

// Progress is one report of long work.
type Progress struct {
	Message string  `json:"message"`
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // 0 when unknown
}
