package api

import "time"

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
