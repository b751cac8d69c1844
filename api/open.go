package api

import "time"

// Routes that open something on a session's screen, all below a session.
const (
	RouteOpenPath      = "POST /v1/sessions/{id}/open_path"
	RouteLaunchApp     = "POST /v1/sessions/{id}/launch_app"
	RouteStartDevTools = "POST /v1/sessions/{id}/start_chrome_devtools"
	RouteStopDevTools  = "POST /v1/sessions/{id}/stop_chrome_devtools"
)

const (
	MaxApplication = 256 // bytes of an application's name

	// MinDevToolsTimeout is the least that the session's longest command must be
	// allowed for DevTools to be of use: the first call of a tool starts three programs,
	// which takes several seconds, and much longer on a busy machine.
	MinDevToolsTimeout  = time.Minute
	DefaultDevToolsIdle = 10 * time.Minute
)

// OpenPathRequest shows a page or a file. The answer is an Observation.
type OpenPathRequest struct {
	Path string `json:"path"` // a web address, or a file: absolute, from the session's folder, or from ~
}

// LaunchAppRequest starts an application, or raises its window. The answer is an
// Observation.
type LaunchAppRequest struct {
	Application string `json:"application"`
	URI         string `json:"uri,omitempty"` // what it opens, as in OpenPathRequest
}

// StartDevToolsRequest attaches chrome-devtools-mcp to the screen's browser.
type StartDevToolsRequest struct {
	// IdleMS is after how long without a call it ends itself; 0 is
	// DefaultDevToolsIdle.
	IdleMS int64 `json:"idle_ms,omitempty"`
}

// StartDevToolsResult is the answer of RouteStartDevTools.
type StartDevToolsResult struct {
	Command string `json:"command"` // for the shell, with <tool> and '<json>' to fill in
}

// StopDevToolsResult is the answer of RouteStopDevTools.
type StopDevToolsResult struct {
	Stopped bool `json:"stopped"` // false when nothing was started
}

// Check returns an Error of CodeBadRequest or CodeTooLarge unless the path is a file's or
// an address that is opened.
func (r OpenPathRequest) Check() error {
	if err := checkText("path", r.Path, MaxAddress); err != nil {
		return err
	}
	if IsAddress(r.Path) {
		_, err := CheckAddress(r.Path)
		return err
	}
	return checkText("path", r.Path, MaxPath)
}

// Check returns an Error of CodeBadRequest or CodeTooLarge when a value cannot be.
func (r LaunchAppRequest) Check() error {
	if err := checkText("application", r.Application, MaxApplication); err != nil {
		return err
	}
	return checkURI(r.URI)
}

// Check returns an Error of CodeBadRequest when the time is outside its range.
func (r StartDevToolsRequest) Check() error {
	if err := inRange("idle_ms", r.IdleMS, 0, (365 * 24 * time.Hour).Milliseconds()); err != nil {
		return sentence(err)
	}
	return nil
}

// checkURI checks what an application is to open, if anything.
func checkURI(uri string) error {
	if uri == "" {
		return nil
	}
	if err := (OpenPathRequest{Path: uri}).Check(); err != nil {
		return err
	}
	if uri[0] == '-' {
		return badRequest("The uri %.100q looks like an option of the program.", uri).
			WithFix("Give an address or a path; a file whose name starts with a dash is ./ and its name.")
	}
	return nil
}
