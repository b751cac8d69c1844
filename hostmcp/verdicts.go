package hostmcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// actText tells a model how its batch went. Steps that settled need no words of their
// own.
func actText(r api.ActRequest, a api.ActResult) string {
	var b strings.Builder
	b.WriteString(summary(r, a))
	for _, s := range a.Steps {
		if text := verdictText(s, a.Settle); text != "" {
			fmt.Fprintf(&b, "\nAction %d (%s): %s", s.Index+1, s.Kind, text)
		}
	}
	return b.String() + "\n" + observationText(a.Observation)
}

// summary says how far a batch came and how it ended.
func summary(r api.ActRequest, a api.ActResult) string {
	if s := a.Stopped; s != nil {
		return fmt.Sprintf("STOPPED at action %d of %d: %s. Done: %s. Not run: %s. %s",
			s.At+1, len(r.Actions), s.Why, numbers(s.Done), numbers(s.NotRun), s.Hint)
	}
	ran, last := "The action ran", "it"
	if len(r.Actions) > 1 {
		ran, last = fmt.Sprintf("%d actions ran", len(r.Actions)), "the last one"
	}
	if n := len(a.Steps); n > 0 && a.Steps[n-1].Verdict == api.VerdictSettled {
		s := a.Steps[n-1]
		return fmt.Sprintf("%s; the screen settled %s after %s%s.", ran, age(s.WaitedMS), last, changedText(s.Region))
	}
	return ran + "."
}

// verdictText says what the screen did after a step, if it is not plain.
func verdictText(s api.Step, settle *api.Settle) string {
	switch s.Verdict {
	case api.VerdictNoReaction:
		if s.Kind == api.KindType {
			return fmt.Sprintf("all of the text was sent; no visible change within %s. A busy program may show it later, and some show nothing; "+
				"that is not failure, look again before you type it once more.", age(s.WaitedMS))
		}
		return fmt.Sprintf("no visible change within %s. It may have worked without a sign, hit nothing, or take longer; "+
			"that is not failure, judge by the picture.", age(s.WaitedMS))
	case api.VerdictResidual:
		if s.Region == nil {
			return "a part of the screen keeps moving; everything else is still."
		}
		text := fmt.Sprintf("the screen settled except %s, which keeps moving. If that part matters, call computer_wait. ", regionText(*s.Region))
		if s.Ignored {
			return text + "It is not watched for a while now, because it kept moving before as well."
		}
		return text + "If not, " + ignoreCall(*s.Region, settle) + " leaves it out."
	case api.VerdictTimeout:
		still := "the screen was still changing"
		if s.Busy {
			still = "the program still showed that it is busy"
		}
		return fmt.Sprintf("%s after %s%s. Call computer_wait until it is still, then look again.%s",
			still, age(s.WaitedMS), changedText(s.Region), restlessText(s.Region, settle))
	}
	return ""
}

// restlessText tells a model what helps where a wait until the screen is still cannot.
func restlessText(r *api.Region, settle *api.Settle) string {
	if r == nil {
		return ""
	}
	return " If it never is, as with an animation, " + ignoreCall(*r, settle) + " leaves that part out, a lower max_wait_ms makes actions wait less, " +
		"and computer_act with settle \"off\" or settle_ms does not wait for it."
}

// ignoreCall writes the call that leaves out a region beside those that are left out
// already.
func ignoreCall(r api.Region, settle *api.Settle) string {
	var regions []api.Region
	if settle != nil {
		regions = slices.Clone(settle.IgnoreRegions)
	}
	list, _ := json.Marshal(append(regions, r)) // of numbers, cannot fail
	return fmt.Sprintf("computer_configure with ignore_regions %s", list)
}

func changedText(r *api.Region) string {
	if r == nil {
		return ""
	}
	return " (changed: " + regionText(*r) + ")"
}

// waitText tells a model what became of its wait.
func waitText(r api.WaitRequest, w api.WaitResult) string {
	where := "The screen"
	if r.Region != nil {
		where = "The region"
	}
	var met, unmet string
	switch r.For {
	case api.WaitChange:
		met, unmet = where+" changed", where+" did not change"
	case api.WaitWindow:
		met, unmet = fmt.Sprintf("A window %q is there", r.Title), fmt.Sprintf("There is no window %q", r.Title)
	case api.WaitFile:
		met, unmet = fmt.Sprintf("%s exists", r.Path), fmt.Sprintf("%s does not exist", r.Path)
	case api.WaitPort:
		met, unmet = fmt.Sprintf("Port %d answers", r.Port), fmt.Sprintf("Nothing listens on port %d", r.Port)
	default:
		met, unmet = where+" is still", where+" has not come to rest"
		if w.Region == nil { // nothing is known to move
			unmet = where + " has not been watched long enough to call it still"
		}
	}
	text := met
	if !w.Met {
		text = "TIME RAN OUT. " + unmet
	}
	if w.Region != nil && (r.For == api.WaitChange || !w.Met) {
		text += " in " + regionText(*w.Region)
	}
	text += fmt.Sprintf("; waited %s.", age(w.WaitedMS))
	if !w.Met {
		text += restlessText(w.Region, w.Settle)
	}
	return text + "\n" + observationText(w.Observation)
}

// settleText tells a model which settling values are in force.
func settleText(s api.Settle) string {
	var b strings.Builder
	b.WriteString("Values in force:")
	for _, v := range []struct {
		name string
		ms   int64
	}{
		{"quiet_ms", s.QuietMS},
		{"react_ms", s.ReactMS},
		{"max_wait_ms", s.MaxWaitMS},
		{"residual_bail_ms", s.ResidualBailMS},
	} {
		fmt.Fprintf(&b, " %s %d", v.name, v.ms)
		if slices.Contains(s.Pinned, v.name) {
			b.WriteString(" (set by you)")
		}
		b.WriteByte(',')
	}
	fmt.Fprintf(&b, " left out by you: %s, found automatically: %s.", regionList(s.IgnoreRegions), regionList(s.AutoIgnored))
	b.WriteString(" Values that you have not set differ a little by kind of action.")
	return b.String()
}

func regionList(regions []api.Region) string {
	if len(regions) == 0 {
		return "nothing"
	}
	var list []string
	for _, r := range regions {
		list = append(list, regionText(r))
	}
	return strings.Join(list, " and ")
}

// humanResultText tells a model how a person answered.
func humanResultText(h api.HumanResult) string {
	text := "The person handed back. Look at what they did before you go on."
	switch h.Outcome {
	case api.HumanDeclined:
		text = "The person declined. Go on without them, or ask your user."
	case api.HumanTimedOut:
		text = "Nobody answered in time. Go on without them, or ask your user."
	}
	return text + "\n" + observationText(h.Observation)
}

// numbers writes indices as the numbers that models count from 1.
func numbers(indices []int) string {
	if len(indices) == 0 {
		return "none"
	}
	var list []string
	for _, i := range indices {
		list = append(list, fmt.Sprint(i+1))
	}
	return strings.Join(list, ", ")
}
