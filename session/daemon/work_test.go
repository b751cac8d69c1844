package daemon

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// S0-100: a command does not wait for what happens on the screen.
func TestShellDoesNotWaitForTheScreen(t *testing.T) {
	h := newHarness(t)
	session := h.start(t)
	moved := make(chan struct{})
	h.screen.onMove = func() {
		select {
		case moved <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		x, wait := 1, int64(5000)
		h.Act(ctx, session, api.ActRequest{Actions: []api.Action{
			{Kind: api.KindMove, X: &x, Y: &x, Settle: api.SettleOff}, {Kind: api.KindWait, MS: &wait},
		}}, nil)
	}()
	<-moved
	start := time.Now()
	r, err := h.Shell(t.Context(), session, api.ShellRequest{Command: "echo out; exit 3"})
	if err != nil || r.Stdout != "out\n" || *r.ExitCode != 3 || time.Since(start) > 4*time.Second {
		t.Errorf("after %v: %+v, %v", time.Since(start), r, err)
	}
	cancel()
	<-acted
}

// A program with a window that starts before the session has a screen is told apart from
// one that fails otherwise: the answer says what was missing, and so does a wait.
func TestShellWithoutAScreen(t *testing.T) {
	h := newHarness(t)
	session := h.start(t)
	const command = "echo 'paint: cannot open display: ' >&2; exit 7"
	run := func(background bool) api.ShellResult {
		t.Helper()
		r, err := h.Shell(t.Context(), session, api.ShellRequest{Command: command, Background: background})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	output := func(job string) api.JobOutput {
		t.Helper()
		for {
			r, err := h.JobOutput(t.Context(), session, api.JobOutputRequest{Job: job, WaitMS: 5000})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Running {
				return r
			}
		}
	}
	await := func() string {
		t.Helper()
		none := int64(0)
		r, _, err := h.Wait(t.Context(), session, api.WaitRequest{For: api.WaitWindow, Title: "paint", TimeoutMS: &none})
		if err != nil || r.Met {
			t.Fatal(r.Met, err)
		}
		return strings.Join(r.Notes, " ")
	}
	if r := run(false); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "computer_observe") {
		t.Errorf("%+v", r)
	}
	if r, err := h.Shell(t.Context(), session, api.ShellRequest{Command: "echo 'display: none'; exit 1"}); err != nil || len(r.Notes) != 0 {
		t.Errorf("another failure: %+v, %v", r, err)
	}
	job := run(true).Job
	if r := output(job); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "before this session had a screen") {
		t.Errorf("%+v", r)
	}
	if notes := await(); !strings.Contains(notes, "Job "+job) || !strings.Contains(notes, "exit code 7") || !strings.Contains(notes, "before this session had a screen") {
		t.Errorf("%s", notes)
	}
	// That wait has opened the screen.
	if r := run(false); len(r.Notes) != 0 {
		t.Errorf("with a screen: %+v", r)
	}
	job = run(true).Job
	if r := output(job); len(r.Notes) != 0 {
		t.Errorf("with a screen: %+v", r)
	}
	if notes := await(); !strings.Contains(notes, "Job "+job) || strings.Contains(notes, "had a screen") {
		t.Errorf("with a screen: %s", notes)
	}
}

// A caller that hangs up ends its command; so does the end of the session, whose caller
// gets the output and the reason.
func TestShellEndsEarly(t *testing.T) {
	h := newHarness(t)
	session := h.start(t)
	began := t.TempDir() + "/began"
	run := func(ctx context.Context) (api.ShellResult, error) {
		return h.Shell(ctx, session, api.ShellRequest{Command: "echo $$ > " + began + "; echo out; sleep 1000"})
	}
	await := func() {
		for {
			if _, err := os.Stat(began); err == nil {
				os.Remove(began)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { await(); cancel() }()
	if _, err := run(ctx); codeOf(err) != api.CodeCanceled {
		t.Errorf("%v", err)
	}
	go func() { await(); h.End(context.WithoutCancel(t.Context()), session) }()
	r, err := run(t.Context())
	if err != nil || r.Stopped == nil || r.Stopped.Code != api.CodeSessionEnded || r.Stdout != "out\n" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := run(t.Context()); codeOf(err) != api.CodeSessionEnded {
		t.Errorf("%v", err)
	}
}

// The smaller of what is asked for and the session's maximum applies, and the answer
// does not suggest what cannot be.
func TestShellTimeoutHasAMaximum(t *testing.T) {
	h := newHarness(t)
	s, err := h.Start(t.Context(), api.StartRequest{Title: "Test", Owner: owner, ShellTimeoutMaxMS: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, timeout := range []float64{0, 1000} {
		r, err := h.Shell(t.Context(), s.Session, api.ShellRequest{Command: "sleep 100", Timeout: timeout})
		if said := strings.Join(r.Notes, " "); strings.Contains(said, "200ms") != (timeout > 0) {
			t.Errorf("%v: the notes say %q", timeout, said)
		}
		if err != nil || !r.TimedOut || strings.Contains(r.Stopped.Fix, "longer timeout") || !strings.Contains(r.Stopped.Fix, "background") {
			t.Errorf("%v: %+v, %v", timeout, r, err)
		}
	}
	if r, err := h.Shell(t.Context(), s.Session, api.ShellRequest{Command: "sleep 100", Timeout: 0.05}); err != nil || !strings.Contains(r.Stopped.Fix, "longer timeout") {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = h.Start(t.Context(), api.StartRequest{Title: "Test", Owner: owner, ShellTimeoutMS: 300, ShellTimeoutMaxMS: 200})
	if codeOf(err) != api.CodeBadRequest {
		t.Errorf("a default above the maximum: %v", err)
	}
}

func TestWorkRequests(t *testing.T) {
	h := newHarness(t)
	session := h.start(t)
	large := strings.Repeat("x", api.MaxRequestBody)
	for _, c := range []struct {
		route, body string
		status      int
		code        api.Code
	}{
		{"shell", `{}`, 400, api.CodeBadRequest},
		{"shell", `{"command":" "}`, 400, api.CodeBadRequest},
		{"shell", `{"command":"true","keep":true}`, 400, api.CodeBadRequest},
		{"shell", `{"command":"true","timeout":-1}`, 400, api.CodeBadRequest},
		{"shell", `{"command":"true","cwd":"/"}`, 400, api.CodeBadRequest},
		{"shell", `{"command":"` + large + `"}`, 413, api.CodeTooLarge},
		{"shell", `{"command":"` + large[:api.MaxCommand+1] + `"}`, 413, api.CodeTooLarge},
		{"job_output", `{"job":"none"}`, 404, api.CodeNotFound},
		{"job_output", `{"job":"none","wait_ms":99999999}`, 400, api.CodeBadRequest},
		{"job_stop", `{}`, 404, api.CodeNotFound},
		{"clipboard", `{"action":"copy"}`, 400, api.CodeBadRequest},
		{"clipboard", `{"action":"get","text":"x"}`, 400, api.CodeBadRequest},
		{"read_file", `{}`, 400, api.CodeBadRequest},
		{"write_file", `{"path":"","content":"` + large + `"}`, 400, api.CodeBadRequest}, // read to its end
		{"edit_file", `{"path":"a","old_text":"b","new_text":"b"}`, 400, api.CodeBadRequest},
		{"edit_file", `{"path":"","old_text":"` + large + `","new_text":"b"}`, 400, api.CodeBadRequest},
		{"search_files", `{}`, 400, api.CodeBadRequest},
		{"set_cwd", `{"path":"a\u0000b"}`, 400, api.CodeBadRequest},
	} {
		status, body := h.raw(t, http.MethodPost, "/v1/sessions/"+session+"/"+c.route, c.body, nil)
		if status != c.status || !strings.Contains(body, `"code":"`+string(c.code)+`"`) {
			t.Errorf("%s %.60s: %d %s", c.route, c.body, status, body)
		}
	}
	if list, err := h.JobList(t.Context(), session); err != nil || len(list.Jobs) != 0 || list.Jobs == nil {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := h.JobList(t.Context(), api.NewID()); codeOf(err) != api.CodeUnknownSession {
		t.Errorf("%v", err)
	}
}
