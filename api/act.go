package api

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
