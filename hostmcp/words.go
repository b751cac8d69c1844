package hostmcp

import (
	"fmt"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// maxWindows is how many windows an answer lists in words; the structured content
// has all.
const maxWindows = 12

// observationText tells a model what its screen is like.
func observationText(o api.Observation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Screen %dx%d, frame %d, %s. Pointer at %d, %d.", o.Frame.Width, o.Frame.Height, o.Frame.ID,
		o.Frame.CapturedAt.UTC().Format("15:04:05.000"), o.Cursor.X, o.Cursor.Y)
	b.WriteString(imageText(o.Image))
	b.WriteString(humanText(o.Human))
	if o.ActiveWindow != "" {
		fmt.Fprintf(&b, "\nActive window: %q.", o.ActiveWindow)
	}
	for i, w := range o.Windows {
		if i == maxWindows {
			fmt.Fprintf(&b, "\n- and %d more", len(o.Windows)-i)
			break
		}
		fmt.Fprintf(&b, "\n- window %q (%s) %dx%d at %d, %d", w.Title, w.Class, w.Width, w.Height, w.X, w.Y)
		if w.Focused {
			b.WriteString(", focused")
		}
		if w.Hidden {
			b.WriteString(", not shown")
		}
	}
	for _, note := range o.Notes {
		b.WriteString("\n" + note)
	}
	return b.String()
}

// imageText says which picture comes with the answer, or why none does.
func imageText(i api.Image) string {
	switch i.State {
	case api.ImageSent:
		text := ""
		if r := i.Region; r != nil {
			text = fmt.Sprintf(" The picture shows only the part %s.", regionText(*r))
		}
		if i.PatchesFrame != 0 {
			text += fmt.Sprintf(" It is what changed since frame %d; the rest is as in your last picture.", i.PatchesFrame)
		}
		if i.Scale != 0 && i.Scale != 1 {
			text += fmt.Sprintf(" The picture is scaled to %dx%d (%.4g picture pixels per screen pixel): "+
				"divide a place in it by %.4g", i.Width, i.Height, i.Scale, i.Scale)
			if r := i.Region; r != nil {
				text += fmt.Sprintf(" and add %d, %d", r.X, r.Y)
			}
			return text + " to get screen pixels."
		}
		if r := i.Region; r != nil {
			text += fmt.Sprintf(" Add %d, %d to a place in it to get screen pixels.", r.X, r.Y)
		}
		return text
	case api.ImageUnchanged:
		return fmt.Sprintf(" No picture: nothing has changed since your last one, %s ago. force sends it again.", age(i.AgeMS))
	}
	if i.AgeMS > 0 {
		return fmt.Sprintf(" No picture; your last one is %s old.", age(i.AgeMS))
	}
	return " No picture."
}

func humanText(h api.Human) string {
	switch {
	case h.InControl:
		return "\nA person has control of this screen: your actions are refused until it is handed back."
	case h.ActedSinceLastCall:
		return "\nA person acted on this screen since your last call: look before you act."
	}
	return ""
}

func regionText(r api.Region) string {
	return fmt.Sprintf("%dx%d at %d, %d", r.Width, r.Height, r.X, r.Y)
}

// count writes a number of things, many being the word for any number of them but one.
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func age(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
