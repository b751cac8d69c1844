package api

import "time"

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
