package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Values that stand for an absent field of an Action.
const (
	DefaultWait         = 350 * time.Millisecond // of wait
	DefaultDragDuration = 300 * time.Millisecond // of drag
	DefaultScroll       = 3                      // steps of scroll
)

// shape says which fields a kind of action takes beside settle.
type shape struct {
	needs, may []string
}

// shapes is the table of all kinds. Its rows stand in the order of the docs.
var shapes = map[string]shape{
	KindClick:  {needs: []string{"x", "y"}, may: []string{"button", "double", "modifiers"}},
	KindMove:   {needs: []string{"x", "y"}},
	KindDown:   {may: []string{"x", "y", "button"}},
	KindUp:     {may: []string{"x", "y", "button"}},
	KindDrag:   {needs: []string{"x", "y", "to_x", "to_y"}, may: []string{"button", "duration_ms"}},
	KindType:   {needs: []string{"text"}},
	KindKey:    {needs: []string{"key"}, may: []string{"modifiers", "repeat", "hold_ms"}},
	KindScroll: {needs: []string{"direction"}, may: []string{"amount", "x", "y", "modifiers"}},
	KindWait:   {may: []string{"ms"}},
	KindFocus:  {needs: []string{"application"}, may: []string{"uri"}},
}

// texts are needed fields whose empty value is the absent one.
var texts = []string{"key", "direction", "application"}

// Kinds lists every kind of Action.
var Kinds = []string{
	KindClick, KindMove, KindDown, KindUp, KindDrag, KindType, KindKey, KindScroll, KindWait, KindFocus,
}

// Buttons lists the names of pointer buttons. The first is the default.
var Buttons = []string{"left", "middle", "right", "back", "forward"}

// Directions lists the directions of a scroll.
var Directions = []string{"up", "down", "left", "right"}

// Check reports what is wrong with the action as far as that can be told without
// a screen: its kind, which fields it has, and their ranges. The error is a plain
// sentence part; [ActRequest.Check] adds the action's number.
func (a Action) Check() error {
	s, ok := shapes[a.Kind]
	if !ok {
		return fmt.Errorf("kind %q is unknown; the kinds are %s", a.Kind, strings.Join(Kinds, ", "))
	}
	given := a.given()
	for _, name := range s.needs {
		if !slices.Contains(given, name) {
			missing := "missing"
			if slices.Contains(texts, name) {
				missing = "missing or empty"
			}
			return fmt.Errorf("%s is %s; it needs %s", name, missing, strings.Join(s.needs, ", "))
		}
	}
	for _, name := range given {
		if !slices.Contains(s.needs, name) && !slices.Contains(s.may, name) {
			return fmt.Errorf("it takes no %s", name)
		}
	}
	if (a.X == nil) != (a.Y == nil) {
		return fmt.Errorf("x and y go together")
	}
	return a.checkValues()
}

// given returns the names of the fields that the action has, without kind and settle.
func (a Action) given() []string {
	var names []string
	add := func(name string, has bool) {
		if has {
			names = append(names, name)
		}
	}
	add("x", a.X != nil)
	add("y", a.Y != nil)
	add("to_x", a.ToX != nil)
	add("to_y", a.ToY != nil)
	add("button", a.Button != "")
	add("double", a.Double)
	add("modifiers", len(a.Modifiers) > 0)
	add("duration_ms", a.DurationMS != nil)
	add("text", a.Text != nil)
	add("key", a.Key != "")
	add("repeat", a.Repeat != nil)
	add("hold_ms", a.HoldMS != nil)
	add("direction", a.Direction != "")
	add("amount", a.Amount != nil)
	add("ms", a.MS != nil)
	add("application", a.Application != "")
	add("uri", a.URI != "")
	return names
}

// maxModifiers is more than the keyboard has, counting aliases.
const maxModifiers = 8

// checkValues checks the values of the fields that are there.
func (a Action) checkValues() error {
	const maxMS = int64(MaxWait / time.Millisecond)
	if err := oneOf("button", a.Button, Buttons); err != nil {
		return err
	}
	if err := oneOf("direction", a.Direction, Directions); err != nil {
		return err
	}
	if err := oneOf("settle", a.Settle, []string{SettleOff}); err != nil {
		return err
	}
	if len(a.Modifiers) > maxModifiers {
		return fmt.Errorf("%d modifiers are more than %d", len(a.Modifiers), maxModifiers)
	}
	if a.Text != nil && *a.Text == "" {
		return fmt.Errorf("text is empty")
	}
	if err := checkURI(a.URI); err != nil {
		return fmt.Errorf("%s", strings.TrimSuffix(AsError(err).Message, "."))
	}
	for _, n := range []struct {
		name     string
		value    *int
		min, max int
	}{
		{"x", a.X, 0, MaxScreenSide - 1},
		{"y", a.Y, 0, MaxScreenSide - 1},
		{"to_x", a.ToX, 0, MaxScreenSide - 1},
		{"to_y", a.ToY, 0, MaxScreenSide - 1},
		{"amount", a.Amount, 1, MaxScroll},
		{"repeat", a.Repeat, 1, MaxRepeat},
	} {
		if n.value != nil {
			if err := inRange(n.name, int64(*n.value), int64(n.min), int64(n.max)); err != nil {
				return err
			}
		}
	}
	for _, n := range []struct {
		name  string
		value *int64
	}{{"duration_ms", a.DurationMS}, {"hold_ms", a.HoldMS}, {"ms", a.MS}} {
		if n.value != nil {
			if err := inRange(n.name, *n.value, 0, maxMS); err != nil {
				return err
			}
		}
	}
	if a.Repeat != nil && a.HoldMS != nil && int64(*a.Repeat)**a.HoldMS > maxMS {
		return fmt.Errorf("%d repeats held for %d ms each take longer than %d ms", *a.Repeat, *a.HoldMS, maxMS)
	}
	return nil
}

// Weight is how much of MaxActions the action uses up: a double click counts as two.
func (a Action) Weight() int {
	if a.Double {
		return 2
	}
	return 1
}

// Check returns an Error of CodeBadRequest that names what is wrong with the
// request as far as that can be told without a screen. Actions are counted from 1.
func (r ActRequest) Check() error {
	if len(r.Actions) == 0 {
		return badRequest("There is no action.").WithFix("Give 1 to %d actions.", MaxActions)
	}
	weight, runes := 0, 0
	for i, a := range r.Actions {
		if err := a.Check(); err != nil {
			return r.ActionError(CodeBadRequest, i, err)
		}
		weight += a.Weight()
		if a.Text != nil {
			runes += utf8.RuneCountInString(*a.Text)
		}
	}
	if weight > MaxActions {
		return badRequest("The batch counts %d actions, a double click as two; at most %d are accepted.", weight, MaxActions).
			WithFix("Split the batch.")
	}
	if runes > MaxTextRunes {
		return badRequest("The batch types %d characters; at most %d are accepted.", runes, MaxTextRunes).
			WithFix("Split the text over several calls, or put it in a file or on the clipboard.")
	}
	return r.checkOptions()
}

func (r ActRequest) checkOptions() error {
	for _, o := range []struct {
		name, value string
		accepted    []string
	}{
		{"settle", r.Settle, []string{SettleAuto, SettleOff}},
		{"stop_on_no_reaction", r.StopOnNoReaction, []string{StopAuto, StopNever, StopAlways}},
		{"screenshot", r.Screenshot, []string{ScreenshotFinal, ScreenshotEach, ScreenshotNone}},
		{"image", r.Image, []string{PictureFull, PictureAuto, PictureCrop, PictureNone}},
	} {
		if err := oneOf(o.name, o.value, o.accepted); err != nil {
			return sentence(err)
		}
	}
	if r.SettleMS != nil {
		if err := inRange("settle_ms", *r.SettleMS, 0, int64(MaxWait/time.Millisecond)); err != nil {
			return sentence(err)
		}
	}
	return r.ImageOptions.Check()
}

// ActionError returns an Error about the action at index i, which it names by its
// number counted from 1 and its kind.
func (r ActRequest) ActionError(code Code, i int, err error) *Error {
	return Errorf(code, "action %d (%s): %v.", i+1, r.Actions[i].Kind, err).
		WithFix("Correct action %d; nothing was done.", i+1)
}

// Check returns an Error of CodeBadRequest when an option is outside its range. It
// cannot tell whether a region lies on the screen.
func (o ImageOptions) Check() error {
	if o.Region != nil {
		if err := o.Region.check("region"); err != nil {
			return sentence(err)
		}
	}
	if o.MaxSide != 0 {
		if err := inRange("max_side", int64(o.MaxSide), MinImageSide, MaxScreenSide); err != nil {
			return sentence(err)
		}
	}
	if err := oneOf("format", o.Format, []string{"png", "jpeg"}); err != nil {
		return sentence(err)
	}
	return nil
}

// check reports a region that lies on no screen at all.
func (r Region) check(name string) error {
	for _, n := range []struct {
		name            string
		value, min, max int
	}{
		{"x", r.X, 0, MaxScreenSide - 1},
		{"y", r.Y, 0, MaxScreenSide - 1},
		{"width", r.Width, 1, MaxScreenSide},
		{"height", r.Height, 1, MaxScreenSide},
	} {
		if err := inRange(name+"."+n.name, int64(n.value), int64(n.min), int64(n.max)); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an Error of CodeBadRequest when the condition lacks what it needs or a
// value is outside its range.
func (r WaitRequest) Check() error {
	if err := oneOf("for", r.For, []string{WaitStill, WaitChange, WaitWindow, WaitFile, WaitPort}); err != nil {
		return sentence(err)
	}
	if r.TimeoutMS != nil {
		if err := inRange("timeout_ms", *r.TimeoutMS, 0, MaxWaitTimeout.Milliseconds()); err != nil {
			return sentence(err)
		}
	}
	if r.Region != nil {
		if err := r.Region.check("region"); err != nil {
			return sentence(err)
		}
	}
	for _, f := range []struct {
		name, of string
		given    bool
	}{
		{"title", WaitWindow, r.Title != ""},
		{"path", WaitFile, r.Path != ""},
		{"port", WaitPort, r.Port != 0},
	} {
		if f.given != (r.For == f.of) {
			return badRequest("The argument %s goes with for %q, and that needs it.", f.name, f.of).
				WithFix("Give both or neither; nothing was done.")
		}
	}
	if r.Region != nil && r.For != "" && r.For != WaitStill && r.For != WaitChange {
		return badRequest("The argument region goes with for %q or %q.", WaitStill, WaitChange).
			WithFix("Leave it out, or wait for one of these; nothing was done.")
	}
	switch r.For {
	case WaitFile:
		return checkText("path", r.Path, MaxPath)
	case WaitPort:
		if err := inRange("port", int64(r.Port), 1, 65535); err != nil {
			return sentence(err)
		}
	}
	return nil
}

// Check returns an Error of CodeBadRequest when the reason or the time is outside its
// range.
func (r HumanRequest) Check() error {
	if n := utf8.RuneCountInString(strings.TrimSpace(r.Reason)); n < 1 || n > MaxReason {
		return badRequest("The reason has %d characters; it must have 1 to %d.", n, MaxReason).
			WithFix("Say in a sentence or two what the person should do.")
	}
	if r.TimeoutMS != nil {
		if err := inRange("timeout_ms", *r.TimeoutMS, 0, MaxHumanTimeout.Milliseconds()); err != nil {
			return sentence(err)
		}
	}
	return nil
}

// Check returns an Error of CodeBadRequest for a value outside its range or a region
// that is on no screen.
func (r ConfigureRequest) Check() error {
	for _, f := range []struct {
		name     string
		ms       *int64
		min, max time.Duration
	}{
		{"quiet_ms", r.QuietMS, MinQuiet, MaxQuiet},
		{"react_ms", r.ReactMS, MinReact, MaxReact},
		{"max_wait_ms", r.MaxWaitMS, MinSettle, MaxSettle},
		{"residual_bail_ms", r.ResidualBailMS, MinResidualBail, MaxResidualBail},
	} {
		if f.ms != nil {
			if err := inRange(f.name, *f.ms, f.min.Milliseconds(), f.max.Milliseconds()); err != nil {
				return sentence(err)
			}
		}
	}
	if r.IgnoreRegions == nil {
		return nil
	}
	if n := len(*r.IgnoreRegions); n > MaxIgnored {
		return badRequest("%d ignore_regions are more than %d.", n, MaxIgnored).WithFix("Give fewer and larger ones.")
	}
	for i, region := range *r.IgnoreRegions {
		if err := region.check(fmt.Sprintf("ignore_regions[%d]", i)); err != nil {
			return sentence(err)
		}
	}
	return nil
}

func badRequest(format string, args ...any) *Error {
	return Errorf(CodeBadRequest, format, args...)
}

// sentence makes an Error of CodeBadRequest of a sentence part.
func sentence(err error) *Error {
	return badRequest("The argument %v.", err).WithFix("Correct it; nothing was done.")
}

func oneOf(name, value string, accepted []string) error {
	if value == "" || slices.Contains(accepted, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %s", name, value, strings.Join(accepted, ", "))
}

func inRange(name string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s %d is outside %d to %d", name, value, low, high)
	}
	return nil
}

// Check returns an Error of CodeBadRequest when a setting is outside its range. The
// title is checked by CleanTitle.
func (r StartRequest) Check() error {
	if !ValidID(r.Owner) {
		return badRequest("The owner %.64q is not 32 lower-case hex digits.", r.Owner)
	}
	if r.ScreenSize != "" {
		if _, _, err := ParseScreenSize(r.ScreenSize); err != nil {
			return badRequest("The %v.", err)
		}
	}
	// A year is far above every use and keeps the sums in range.
	const maxMS = int64(365 * 24 * time.Hour / time.Millisecond)
	if err := inRange("idle_ms", r.IdleMS, 0, maxMS); err != nil {
		return sentence(err)
	}
	if r.ElideTTLMS != nil {
		if err := inRange("elide_ttl_ms", *r.ElideTTLMS, 0, maxMS); err != nil {
			return sentence(err)
		}
	}
	if r.AutoIgnoreMS != nil {
		if err := inRange("auto_ignore_ms", *r.AutoIgnoreMS, 0, maxMS); err != nil {
			return sentence(err)
		}
	}
	if r.MaxSide != 0 {
		if err := inRange("max_side", int64(r.MaxSide), MinImageSide, MaxScreenSide); err != nil {
			return sentence(err)
		}
	}
	if err := oneOf("image_format", r.ImageFormat, []string{"auto", "png", "jpeg"}); err != nil {
		return sentence(err)
	}
	if err := inRange("jpeg_quality", int64(r.JPEGQuality), 0, 100); err != nil {
		return sentence(err)
	}
	if err := inRange("shell_timeout_max_ms", r.ShellTimeoutMaxMS, 0, maxMS); err != nil {
		return sentence(err)
	}
	most := cmp.Or(r.ShellTimeoutMaxMS, DefaultShellTimeoutMax.Milliseconds())
	if err := inRange("shell_timeout_ms", r.ShellTimeoutMS, 0, most); err != nil {
		return sentence(err)
	}
	return nil
}
