package api

import "time"

// Routes of commands and of the clipboard, all below a session.
const (
	RouteShell     = "POST /v1/sessions/{id}/shell"
	RouteSetCwd    = "POST /v1/sessions/{id}/set_cwd"
	RouteJobOutput = "POST /v1/sessions/{id}/job_output"
	RouteJobStop   = "POST /v1/sessions/{id}/job_stop"
	RouteJobList   = "POST /v1/sessions/{id}/job_list"
	RouteClipboard = "POST /v1/sessions/{id}/clipboard"
)

// Limits of commands and jobs.
const (
	DefaultShellTimeout    = 120 * time.Second
	DefaultShellTimeoutMax = 600 * time.Second

	MaxCommand   = 128 << 10 // bytes of a command, what Linux takes as one argument
	MaxJobs      = 32        // jobs that a session, or all kept ones together, may have
	MaxJobOutput = 64 << 20  // bytes of a job's output that are kept
	MaxJobChunk  = 30000     // bytes of output in one answer
	MaxJobWait   = time.Minute
	MaxClipboard = 512 << 10 // bytes of text that the clipboard tool takes and gives
)

// ShellRequest runs a command in bash.
type ShellRequest struct {
	Command string `json:"command"`
	// Timeout is in seconds, 0 to a year. 0 is as if left out: the session's default, and
	// none for a job. For what is no job the session's maximum applies when that is smaller.
	Timeout    float64 `json:"timeout,omitempty"`
	Background bool    `json:"background,omitempty"` // answer at once with a job
	Keep       bool    `json:"keep,omitempty"`       // the job outlives the session
}

// ShellResult is the answer of RouteShell. Of a background command it holds the job
// alone.
type ShellResult struct {
	// ExitCode is the shell's exit status, 128 and its number when a signal ended it.
	ExitCode      *int   `json:"exit_code,omitempty"`
	DurationMS    int64  `json:"duration_ms"`
	Stdout        string `json:"stdout"` // head and tail when it is long
	Stderr        string `json:"stderr"`
	StdoutDropped int64  `json:"stdout_dropped,omitempty"` // bytes left out of the middle
	StderrDropped int64  `json:"stderr_dropped,omitempty"`
	TimedOut      bool   `json:"timed_out"`
	// Notes say what was done otherwise than asked for, such as a shorter timeout.
	Notes []string `json:"notes,omitempty"`
	Job   string   `json:"job,omitempty"`
	// Stopped says why the command did not run to its end: the time was up, the call
	// was cancelled or the session ended. The output up to then is there.
	Stopped *Error `json:"stopped,omitempty"`
}

// SetCwdRequest changes the folder in which the session's commands start and from
// which its relative paths count.
type SetCwdRequest struct {
	Path string `json:"path"` // absolute, from the present folder, or from ~
}

// SetCwdResult is the answer of RouteSetCwd.
type SetCwdResult struct {
	Cwd string `json:"cwd"` // absolute
}

// JobRequest names a job.
type JobRequest struct {
	Job string `json:"job"`
}

// JobOutputRequest reads what a job has written to stdout and stderr.
type JobOutputRequest struct {
	Job string `json:"job"`
	// Offset is the first byte to read, counted from the job's start; a negative one
	// counts from the present end.
	Offset int64 `json:"offset,omitempty"`
	// WaitMS is how long to wait for output behind the offset while the job runs.
	WaitMS int64 `json:"wait_ms,omitempty"`
}

// JobOutput is the answer of RouteJobOutput.
type JobOutput struct {
	Output     string `json:"output"`
	Offset     int64  `json:"offset"`      // of Output's first byte; larger than asked for when that is gone
	NextOffset int64  `json:"next_offset"` // where to read on
	Total      int64  `json:"total"`       // bytes written so far
	Running    bool   `json:"running"`
	ExitCode   *int   `json:"exit_code,omitempty"` // once it has ended
	DurationMS int64  `json:"duration_ms"`
	// Notes say what the output does not, such as that the job has no screen.
	Notes []string `json:"notes,omitempty"`
}

// Job is one background command.
type Job struct {
	Job        string    `json:"job"`
	Command    string    `json:"command"` // its beginning when it is long
	Running    bool      `json:"running"`
	ExitCode   *int      `json:"exit_code,omitempty"`
	Keep       bool      `json:"keep"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS int64     `json:"duration_ms"`
	Total      int64     `json:"total"` // bytes of output so far
	// Stopped is set for a job that job_stop or its timeout has ended.
	Stopped bool `json:"stopped,omitempty"`
}

// JobList is the answer of RouteJobList: the session's jobs and the computer's kept
// ones, oldest first.
type JobList struct {
	Jobs []Job `json:"jobs"`
}

// Actions of ClipboardRequest.
const (
	ClipboardGet = "get"
	ClipboardSet = "set"
)

// ClipboardRequest reads or replaces the clipboard text of the session's screen.
type ClipboardRequest struct {
	Action string  `json:"action"`
	Text   *string `json:"text,omitempty"` // with set
}

// ClipboardResult is the answer of RouteClipboard.
type ClipboardResult struct {
	Text string `json:"text"` // on the clipboard now
}

// Check returns an Error of CodeBadRequest when the command or an option cannot be.
func (r ShellRequest) Check() error {
	if err := checkText("command", r.Command, MaxCommand); err != nil {
		return err
	}
	// A year is far above every use and keeps the sums in range.
	if !(r.Timeout >= 0 && r.Timeout <= (365*24*time.Hour).Seconds()) {
		return badRequest("The timeout %g is not a number of seconds from 0 to a year.", r.Timeout).
			WithFix("Leave it out for the default, or give seconds.")
	}
	if r.Keep && !r.Background {
		return badRequest("The argument keep goes with background.").WithFix("Set background too, or leave keep out.")
	}
	return nil
}

// Check returns an Error of CodeBadRequest when a value is outside its range.
func (r JobOutputRequest) Check() error {
	if err := inRange("wait_ms", r.WaitMS, 0, MaxJobWait.Milliseconds()); err != nil {
		return sentence(err)
	}
	return nil
}

// Check returns an Error of CodeBadRequest or CodeTooLarge unless the request is
// whole.
func (r ClipboardRequest) Check() error {
	if r.Action == "" {
		return badRequest("The argument action is missing.").WithFix("Give get or set.")
	}
	if err := oneOf("action", r.Action, []string{ClipboardGet, ClipboardSet}); err != nil {
		return sentence(err)
	}
	if (r.Text != nil) != (r.Action == ClipboardSet) {
		return badRequest("The argument text goes with the action %q, and that needs it.", ClipboardSet).
			WithFix("Give both or neither; nothing was done.")
	}
	if r.Text != nil && len(*r.Text) > MaxClipboard {
		return Errorf(CodeTooLarge, "The text has %d bytes; the clipboard tool takes at most %d.", len(*r.Text), MaxClipboard).
			WithFix("Put it in a file with write_file.")
	}
	return nil
}
