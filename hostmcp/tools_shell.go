package hostmcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

var jobField = Field{Name: "job", Kind: String, Required: true, Doc: "The job that shell returned."}

// shellTools run commands. None of them waits for the screen.
func shellTools() []Tool {
	return []Tool{
		{
			Name: "shell", Title: "Run a command",
			Description: "Run a command with bash -lc on the computer, in this session's folder (see set_cwd), and answer when it exits, with its exit code, " +
				"stdout and stderr. It has no input and no terminal. Programs with windows open on this session's screen once that was looked at. " +
				"A command past its timeout is ended with everything it started, and its output up to then is returned. " +
				"For what takes long or is to go on, use background, or start it as `setsid nohup server > server.log 2>&1 &`.",
			Destructive: true,
			OpenWorld:   true,
			Fields: []Field{
				{Name: "command", Kind: String, Required: true, Doc: "The command line, or several lines."},
				{Name: "timeout", Kind: Number, Doc: "Seconds. Default, also for 0: 120; the user may have set another default and a maximum."},
				{Name: "background", Kind: Boolean, Doc: "Answer at once with a job, whose output job_output reads."},
				{Name: "keep", Kind: Boolean, Doc: "With background: the job goes on when the session ends; it gets no screen."},
			},
			Run: with(runShell),
		},
		{
			Name: "job_output", Title: "Read a job's output",
			Description: "Read what a background job has written to stdout and stderr, from an offset on, and whether it still runs. " +
				"With wait_ms it waits for more output when there is none yet.",
			ReadOnly:   true,
			Idempotent: true,
			Fields: []Field{
				jobField,
				{Name: "offset", Kind: Integer, Doc: "First byte to read: next_offset of the last answer. Default 0; a negative one counts from the end."},
				{Name: "wait_ms", Kind: Integer, Max: int(api.MaxJobWait / time.Millisecond), Doc: "Wait this long for output behind the offset."},
			},
			Run: with(jobOutput),
		},
		{
			Name: "job_stop", Title: "Stop a job",
			Description: "End a background job with everything that it has started. Its output can still be read.",
			Destructive: true,
			Idempotent:  true,
			Fields:      []Field{jobField},
			Run:         with(jobStop),
		},
		{
			Name: "job_list", Title: "List jobs",
			Description: "List this session's background jobs, and those of other sessions that were started with keep.",
			ReadOnly:    true,
			Idempotent:  true,
			Run:         jobList,
		},
		{
			Name: "set_cwd", Title: "Change the folder",
			Description: "Change the folder in which this session's commands start and from which relative paths count. It begins as home (~).",
			Idempotent:  true,
			Fields:      []Field{{Name: "path", Kind: String, Required: true, Doc: "Absolute, relative to the present folder, or from ~."}},
			Run:         with(setCwd),
		},
		{
			Name: "clipboard", Title: "Use the clipboard",
			Description: "Get or set the text on the clipboard of this session's screen, for example to paste it into a program. Typing never changes it.",
			Ordered:     true,
			Fields: []Field{
				{Name: "action", Kind: String, Required: true, Enum: []string{api.ClipboardGet, api.ClipboardSet}},
				{Name: "text", Kind: String, Doc: "With set: the new text."},
			},
			Run: with(useClipboard),
		},
	}
}

func runShell(ctx context.Context, c *Call, args api.ShellRequest) (*Reply, error) {
	result, err := c.Computer.Shell(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	if result.Job != "" {
		return &Reply{
			Text:       fmt.Sprintf("Job %s runs in the background. Read its output with job_output; end it with job_stop.", result.Job),
			Structured: result,
		}, nil
	}
	reply := &Reply{Text: shellText(result), Structured: result}
	if result.Stopped != nil {
		// The error object, and what the command had done until then.
		reply.Failed = true
		reply.Structured = struct {
			api.ShellResult
			*api.Error
		}{result, result.Stopped}
	}
	return reply, nil
}

func shellText(r api.ShellResult) string {
	var b strings.Builder
	if r.Stopped != nil {
		b.WriteString(r.Stopped.Error() + "\n")
	}
	for _, note := range r.Notes {
		b.WriteString(note + "\n")
	}
	if r.ExitCode != nil {
		fmt.Fprintf(&b, "Exit code %d after %s.", *r.ExitCode, age(r.DurationMS))
	}
	for _, s := range []struct {
		name, text string
		dropped    int64
	}{{"stdout", r.Stdout, r.StdoutDropped}, {"stderr", r.Stderr, r.StderrDropped}} {
		if s.text == "" {
			continue
		}
		cut := ""
		if s.dropped > 0 {
			cut = fmt.Sprintf(" (%s in the middle left out; write to a file and read that for all of it)", count(s.dropped, "byte", "bytes"))
		}
		fmt.Fprintf(&b, "\n%s%s:\n%s", s.name, cut, strings.TrimSuffix(s.text, "\n"))
	}
	if r.Stdout == "" && r.Stderr == "" {
		b.WriteString(" No output.")
	}
	return b.String()
}

func jobOutput(ctx context.Context, c *Call, args api.JobOutputRequest) (*Reply, error) {
	r, err := c.Computer.JobOutput(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	text := jobState(r.Running, r.ExitCode, r.DurationMS)
	if args.Offset >= 0 && r.Offset > args.Offset {
		text += fmt.Sprintf(" Its oldest output is no longer kept: this begins at byte %d.", r.Offset)
	}
	text += fmt.Sprintf(" Bytes %d to %d of %d", r.Offset, r.NextOffset, r.Total)
	if r.NextOffset < r.Total {
		text += fmt.Sprintf("; read on with offset %d", r.NextOffset)
	}
	text += "."
	for _, note := range r.Notes {
		text += " " + note
	}
	if r.Output != "" {
		text += "\n" + strings.TrimSuffix(r.Output, "\n")
	}
	return &Reply{Text: text, Structured: r}, nil
}

func jobStop(ctx context.Context, c *Call, args api.JobRequest) (*Reply, error) {
	r, err := c.Computer.JobStop(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	text := "Job " + r.Job + " was stopped. " + jobState(r.Running, r.ExitCode, r.DurationMS)
	if !r.Stopped && !r.Running {
		text = "Job " + r.Job + " had ended before. " + jobState(r.Running, r.ExitCode, r.DurationMS) +
			" If it had left something running, that was ended now."
	}
	return &Reply{Text: text, Structured: r}, nil
}

func jobList(ctx context.Context, c *Call) (*Reply, error) {
	r, err := c.Computer.JobList(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	text := "There are no jobs."
	if len(r.Jobs) > 0 {
		text = fmt.Sprintf("Jobs: %d.", len(r.Jobs))
	}
	for _, j := range r.Jobs {
		text += fmt.Sprintf("\n%s %s %s of output. %.80q", j.Job, jobState(j.Running, j.ExitCode, j.DurationMS), count(j.Total, "byte", "bytes"), j.Command)
	}
	return &Reply{Text: text, Structured: r}, nil
}

func jobState(running bool, exitCode *int, ms int64) string {
	switch {
	case running:
		return fmt.Sprintf("It has been running for %s.", age(ms))
	case exitCode != nil:
		return fmt.Sprintf("It ended with exit code %d after %s.", *exitCode, age(ms))
	}
	return "It cannot be ended: it hangs in the system."
}

func setCwd(ctx context.Context, c *Call, args api.SetCwdRequest) (*Reply, error) {
	r, err := c.Computer.SetCwd(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	return &Reply{Text: "The folder is now " + r.Cwd, Structured: r}, nil
}

func useClipboard(ctx context.Context, c *Call, args api.ClipboardRequest) (*Reply, error) {
	r, err := c.Computer.Clipboard(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	text := "The clipboard was set."
	switch {
	case args.Action == api.ClipboardGet && r.Text == "":
		text = "There is no text on the clipboard."
	case args.Action == api.ClipboardGet:
		text = "The clipboard holds:\n" + r.Text
	}
	return &Reply{Text: text, Structured: r}, nil
}
