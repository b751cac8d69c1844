package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/session/devtools"
	"github.com/falleng0d/computer-use-mcp/session/files"
	"github.com/falleng0d/computer-use-mcp/session/shell"
)

// workspace is what a session works with apart from its screen. Nothing of it waits
// for observes and acts.
type workspace struct {
	shell *shell.Shell
	edits queue // writes and edits of files, so that two edits of one file both count

	mu       sync.Mutex
	cwd      string            // guarded by mu; absolute
	devtools *devtools.Session // guarded by mu; nil when none was started
	bare     map[string]bool   // guarded by mu; the jobs that were started without a screen
}

func newWorkspace(cfg Config, session string) *workspace {
	return &workspace{shell: cfg.Shells.Shell(session), cwd: cfg.Programs.Home, bare: map[string]bool{}}
}

func (w *workspace) folder() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cwd
}

// command returns a command line with the place where it runs: the session's folder
// and, if one is open, its screen. A job that is to outlive the session gets no screen:
// the next one with its number is somebody else's.
func (s *Session) command(line string, outlives bool) shell.Command {
	c := shell.Command{Line: line, Dir: s.work.folder()}
	if d := s.Desktop(); d != nil && !outlives {
		c.Env, c.User = d.Screen.Env(), d.Screen.User()
	}
	return c
}

// Shell runs a command. That it fails is a result, as that its time was up is, and not
// an error.
func (s *Session) Shell(ctx context.Context, r api.ShellRequest) (result api.ShellResult, err error) {
	if err := r.Check(); err != nil {
		return result, err
	}
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	timeout := time.Duration(r.Timeout * float64(time.Second))
	bare := s.Desktop() == nil && !r.Keep // one that is kept gets no screen in any case
	command := s.command(r.Command, r.Keep)
	if r.Background {
		result.Job, err = s.work.shell.StartJob(command, r.Keep, timeout)
		if err == nil && bare {
			s.work.mu.Lock()
			s.work.bare[result.Job] = true
			s.work.mu.Unlock()
		}
		return result, err
	}
	if timeout == 0 {
		timeout = s.settings.shellTimeout
	}
	most := s.settings.shellMax
	result, err = s.work.shell.Run(ctx, command, min(timeout, most))
	if bare && missesScreen(result.Stdout+result.Stderr) {
		result.Notes = append(result.Notes, "This session had no screen yet, so DISPLAY was not set. Call computer_observe, which opens it, then start programs with windows again.")
	}
	if timeout > most {
		result.Notes = append(result.Notes, fmt.Sprintf("The timeout was %v, the longest that the user allows, and not %v.", most, timeout))
	}
	if result.TimedOut && timeout >= most {
		result.Stopped.WithFix("No command may run longer than that in the foreground. Run it with background, or do less at once.")
	}
	return result, err
}

// missing is what programs print that look for a screen where there is none.
var missing = regexp.MustCompile(`\bDISPLAY\b|(open|connect to) display`)

// missesScreen reports whether a program's output says that it has found no screen.
func missesScreen(output string) bool { return missing.MatchString(output) }

// bareNote is for a job that ended, maybe because it was started without a screen; empty
// for others.
func (w *workspace) bareNote(job string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.bare[job] {
		return ""
	}
	return "It was started before this session had a screen, without DISPLAY. Programs with windows start once computer_observe has opened one: start it again then."
}

// lost tells of the session's last job when that has failed, for somebody who may wait
// for what it was to do; empty otherwise.
func (w *workspace) lost() string {
	jobs := slices.DeleteFunc(w.shell.Jobs(), func(j api.Job) bool { return j.Keep })
	if len(jobs) == 0 {
		return ""
	}
	last := jobs[len(jobs)-1]
	if last.Running || last.Stopped || last.ExitCode == nil || *last.ExitCode == 0 {
		return ""
	}
	note := fmt.Sprintf("Job %s (%.60q) has ended with exit code %d; job_output says more.", last.Job, last.Command, *last.ExitCode)
	return strings.TrimSpace(note + " " + w.bareNote(last.Job))
}

// SetCwd changes the folder in which commands start and relative paths begin.
func (s *Session) SetCwd(ctx context.Context, r api.SetCwdRequest) (api.SetCwdResult, error) {
	result, _, err := onFiles[api.SetCwdResult](ctx, s, files.Enter, r)
	if err == nil {
		s.work.mu.Lock()
		s.work.cwd = result.Cwd
		s.work.mu.Unlock()
	}
	return result, err
}

// JobOutput reads what a job has written.
func (s *Session) JobOutput(ctx context.Context, r api.JobOutputRequest) (result api.JobOutput, err error) {
	if err := r.Check(); err != nil {
		return result, err
	}
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	result, err = s.work.shell.Output(ctx, r)
	if note := s.work.bareNote(r.Job); note != "" && missesScreen(result.Output) {
		result.Notes = append(result.Notes, note)
	}
	return result, explain(ctx, err)
}

// JobStop ends a job with everything that it has started.
func (s *Session) JobStop(ctx context.Context, r api.JobRequest) (result api.Job, err error) {
	_, done, err := s.begin(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	return s.work.shell.Stop(r.Job)
}

// JobList lists the session's jobs and the computer's kept ones.
func (s *Session) JobList(ctx context.Context, _ struct{}) (result api.JobList, err error) {
	_, done, err := s.begin(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	return api.JobList{Jobs: s.work.shell.Jobs()}, nil
}

// ListFiles lists a folder.
func (s *Session) ListFiles(ctx context.Context, r api.ListFilesRequest) (api.ListFilesResult, error) {
	result, _, err := onFiles[api.ListFilesResult](ctx, s, files.List, r)
	return result, err
}

// ReadFile reads a text, or an image, which comes beside the result.
func (s *Session) ReadFile(ctx context.Context, r api.ReadFileRequest) (api.ReadFileResult, []Image, error) {
	result, data, err := onFiles[api.ReadFileResult](ctx, s, files.Read, r)
	if err != nil || result.Kind != api.FileImage {
		return result, nil, err
	}
	return result, []Image{{ContentType: "image/" + result.Format, Data: data}}, nil
}

// WriteFile replaces a file as a whole.
func (s *Session) WriteFile(ctx context.Context, r api.WriteFileRequest) (result api.WriteFileResult, err error) {
	leave, err := s.work.edits.enter(ctx)
	if err != nil {
		return result, explain(ctx, err)
	}
	defer leave()
	result, _, err = onFiles[api.WriteFileResult](ctx, s, files.Write, r)
	return result, err
}

// EditFile replaces an exact text in a file.
func (s *Session) EditFile(ctx context.Context, r api.EditFileRequest) (result api.EditFileResult, err error) {
	leave, err := s.work.edits.enter(ctx)
	if err != nil {
		return result, explain(ctx, err)
	}
	defer leave()
	result, _, err = onFiles[api.EditFileResult](ctx, s, files.Edit, r)
	return result, err
}

// SearchFiles looks for lines, or for files by name.
func (s *Session) SearchFiles(ctx context.Context, r api.SearchFilesRequest) (api.SearchFilesResult, error) {
	result, _, err := onFiles[api.SearchFilesResult](ctx, s, files.Search, r)
	return result, err
}

// onFiles does one act of package files in the session's folder.
func onFiles[R any](ctx context.Context, s *Session, act string, r interface{ Check() error }) (result R, image []byte, err error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return result, nil, err
	}
	defer done()
	image, err = s.table.cfg.Files.Call(ctx, act, s.work.folder(), r, &result)
	return result, image, err
}

// Clipboard reads or replaces the clipboard text of the session's screen. It takes its
// turn, so that what was copied before is there and what pastes next gets the text.
// While a person has control it can only be read.
func (s *Session) Clipboard(ctx context.Context, r api.ClipboardRequest) (result api.ClipboardResult, err error) {
	if err := r.Check(); err != nil {
		return result, err
	}
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		clipboard, err := d.Screen.Clipboard()
		if err != nil {
			return err
		}
		if r.Action == api.ClipboardSet {
			// A person at work pastes what they have copied, not what the agent has.
			_, done, err := d.Control.Act(ctx)
			if err != nil {
				return err
			}
			defer done()
			result.Text = *r.Text
			return clipboard.Set(*r.Text)
		}
		result.Text, err = clipboard.Get(ctx)
		switch {
		case errors.Is(err, x11.ErrNoText):
			return api.Errorf(api.CodeUnsupported, "What is on the clipboard is no text.").WithFix("Paste it into a program, or copy text.")
		case errors.Is(err, x11.ErrTooLarge), len(result.Text) > api.MaxClipboard:
			return api.Errorf(api.CodeTooLarge, "The text on the clipboard has more than %d bytes.", api.MaxClipboard).
				WithFix("Paste it into a file and read that.")
		}
		return err
	})
	return result, err
}
