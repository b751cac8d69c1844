package hostmcp

import (
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// wantText checks that a text says some things and does not say others, which begin
// with an exclamation mark.
func wantText(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if unwanted, ok := strings.CutPrefix(w, "!"); ok {
			if strings.Contains(text, unwanted) {
				t.Errorf("%q says %q", text, unwanted)
			}
		} else if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

// What the model reads of its batch. S3-7, S3-54: where it stopped, what was done, what was
// not, and how to go on.
func TestActText(t *testing.T) {
	region := &api.Region{X: 560, Y: 40, Width: 40, Height: 48}
	for _, test := range []struct {
		name    string
		actions int
		steps   []api.Step
		stopped *api.Stopped
		want    []string
	}{
		// S3-10, S3-23, S3-49
		{"settled", 1, []api.Step{{Kind: "click", Verdict: api.VerdictSettled, WaitedMS: 240, Region: region}}, nil, []string{
			"The action ran; the screen settled 240ms after it (changed: 40x48 at 560, 40).\nScreen 1280x800", "!Action 1",
		}},
		{"all settled", 2, []api.Step{
			{Kind: "click", Verdict: api.VerdictSettled}, {Index: 1, Kind: "type", Verdict: api.VerdictSettled, WaitedMS: 130},
		}, nil, []string{"2 actions ran; the screen settled 130ms after the last one.", "!Action"}},
		{"not watched", 2, []api.Step{
			{Kind: "click", Verdict: api.VerdictSkipped}, {Index: 1, Kind: "type", Verdict: api.VerdictSkipped},
		}, nil, []string{"2 actions ran.\nScreen", "!settled"}},
		// S3-24, S3-50
		{"no reaction", 1, []api.Step{{Kind: "move", Verdict: api.VerdictNoReaction, WaitedMS: 200}}, nil, []string{
			"The action ran.", "Action 1 (move): no visible change within 200ms", "without a sign, hit nothing, or take longer", "not failure", "judge by the picture",
		}},
		{"type without reaction", 1, []api.Step{{Kind: "type", Verdict: api.VerdictNoReaction, WaitedMS: 800}}, nil, []string{
			"Action 1 (type): all of the text was sent; no visible change within 800ms", "not failure", "look again before you type", "!hit nothing",
		}},
		// S3-30, S3-51: the moving part matters perhaps; if not, the exact call, or that it
		// has been made already.
		{"residual", 1, []api.Step{{Kind: "click", Verdict: api.VerdictResidual, WaitedMS: 1500, Region: region}}, nil, []string{
			"Action 1 (click): the screen settled except 40x48 at 560, 40", "If that part matters, call computer_wait",
			`computer_configure with ignore_regions [{"x":1,"y":2,"width":3,"height":4},{"x":560,"y":40,"width":40,"height":48}]`,
		}},
		{"ignored", 1, []api.Step{{Kind: "click", Verdict: api.VerdictResidual, Region: region, Ignored: true}}, nil, []string{
			"not watched for a while", "!computer_configure",
		}},
		// S3-29, S3-52
		{"timeout", 1, []api.Step{{Kind: "click", Verdict: api.VerdictTimeout, WaitedMS: 8000, Region: region}}, nil, []string{
			"still changing after 8s", "40x48 at 560, 40", "computer_wait",
			`computer_configure with ignore_regions [{"x":1,"y":2,"width":3,"height":4},{"x":560,"y":40,"width":40,"height":48}] leaves that part out`,
			"max_wait_ms", `settle "off" or settle_ms`,
		}},
		{"busy", 1, []api.Step{{Kind: "click", Verdict: api.VerdictTimeout, WaitedMS: 8000, Busy: true}}, nil, []string{
			"Action 1 (click): the program still showed that it is busy after 8s.", "computer_wait", "!ignore_regions",
		}},
		{"stopped", 4, []api.Step{
			{Kind: "click", Verdict: api.VerdictSettled}, {Index: 1, Kind: "key", Verdict: api.VerdictNoReaction, WaitedMS: 300},
		}, &api.Stopped{At: 1, Why: "no visible change", Done: []int{0, 1}, NotRun: []int{2, 3}, Hint: "Look first."}, []string{
			"STOPPED at action 2 of 4: no visible change. Done: 1, 2. Not run: 3, 4. Look first.",
			"Action 2 (key): no visible change within 300ms", "!Action 1", "Screen 1280x800",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := observation()
			o.Settle = &api.Settle{IgnoreRegions: []api.Region{{X: 1, Y: 2, Width: 3, Height: 4}}}
			text := actText(api.ActRequest{Actions: make([]api.Action, test.actions)},
				api.ActResult{Steps: test.steps, Stopped: test.stopped, Observation: o})
			wantText(t, text, test.want...)
		})
	}
}

func TestWaitText(t *testing.T) {
	region := &api.Region{X: 1, Y: 2, Width: 30, Height: 40}
	for _, test := range []struct {
		request api.WaitRequest
		result  api.WaitResult
		want    string
	}{
		{api.WaitRequest{}, api.WaitResult{Met: true, WaitedMS: 500}, "The screen is still; waited 500ms.\nScreen"},
		{api.WaitRequest{Region: region}, api.WaitResult{WaitedMS: 3000, Region: region}, "TIME RAN OUT. The region has not come to rest in 30x40 at 1, 2; waited 3s. If it never is, as with an animation, computer_configure with ignore_regions"},
		{api.WaitRequest{}, api.WaitResult{}, "TIME RAN OUT. The screen has not been watched long enough to call it still; waited 0s."},
		{api.WaitRequest{For: "change"}, api.WaitResult{Met: true, Region: region}, "The screen changed in 30x40 at 1, 2;"},
		{api.WaitRequest{For: "window", Title: "Save"}, api.WaitResult{Met: true}, `A window "Save" is there`},
		{api.WaitRequest{For: "file", Path: "~/a"}, api.WaitResult{}, "TIME RAN OUT. ~/a does not exist"},
		{api.WaitRequest{For: "port", Port: 80}, api.WaitResult{}, "TIME RAN OUT. Nothing listens on port 80"},
	} {
		test.result.Observation = observation()
		wantText(t, waitText(test.request, test.result), test.want)
	}
}

func TestSettleText(t *testing.T) {
	text := settleText(api.Settle{
		QuietMS: 200, ReactMS: 600, MaxWaitMS: 8000, ResidualBailMS: 1500, Pinned: []string{"react_ms"},
		AutoIgnored: []api.Region{{X: 1, Y: 2, Width: 3, Height: 4}},
	})
	wantText(t, text, "quiet_ms 200,", "react_ms 600 (set by you)", "by you: nothing", "automatically: 3x4 at 1, 2")
}

func TestHumanResultText(t *testing.T) {
	for outcome, want := range map[string]string{
		api.HumanHandedBack: "handed back", api.HumanDeclined: "declined", api.HumanTimedOut: "Nobody answered",
	} {
		wantText(t, humanResultText(api.HumanResult{Outcome: outcome, Observation: observation()}), want, "Screen 1280x800")
	}
}
