package api

import "time"

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
