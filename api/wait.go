package api

import "time"

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
