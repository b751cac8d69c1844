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
