package session

import (
	"context"
	"fmt"
	"image"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/settle"
)

// stepPause is the time between two steps that do not wait for the screen: programs get
// a moment to handle one event before the next.
const stepPause = 30 * time.Millisecond

// maxStepImages is how many bytes of images a batch collects before it leaves out those
// of further steps: clients close the connection on answers that are too large.
const maxStepImages = 3 << 20

// Act runs a batch of actions and answers with the screen after it. The whole batch is
// checked before anything runs. progress, which may be nil, is told before each step
// but the first. When the batch fails or is cancelled, everything that the session has
// pressed is released.
func (s *Session) Act(ctx context.Context, r api.ActRequest, progress func(api.Progress)) (result api.ActResult, images []Image, err error) {
	if err := r.Check(); err != nil {
		return result, nil, err
	}
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		width, height := size(d.Screen)
		plan, err := compile(r, width, height)
		if err != nil {
			return err
		}
		if err := checkRegion(d.Screen, r.Region); err != nil {
			return err
		}
		b := batch{session: s, desktop: d, request: r, plan: plan, progress: progress}
		if err := b.run(ctx); err != nil {
			return err
		}
		result.Steps, result.Stopped = b.steps, b.stopped
		observation, closing, err := s.look(ctx, d, b.closingWish())
		d.Screen.Frame().Read(func(v frame.View) { s.guard.ran(s.tracker, v, b.before) })
		result.Observation = observation
		if b.bytes >= maxStepImages {
			result.Notes = append(result.Notes, "The images of some steps were left out because the answer would be too large; ask for smaller ones or fewer.")
		}
		images = append(b.images, closing...)
		return err
	})
	return result, images, err
}

// batch is one run of a list of actions.
type batch struct {
	session  *Session
	desktop  *Desktop
	request  api.ActRequest
	plan     []step
	progress func(api.Progress)

	before  frame.Stamp  // of the screen before the first step
	steps   []api.Step   // that ran
	stopped *api.Stopped // why the others did not
	images  []Image      // of the steps
	bytes   int          // in images
}

// run runs the steps. What they pressed on purpose stays pressed when all is well.
func (b *batch) run(ctx context.Context) (err error) {
	if b.before, err = b.desktop.Screen.Refresh(ctx); err != nil {
		return err
	}
	b.desktop.Screen.Frame().Read(func(v frame.View) {
		err = b.session.guard.check(b.session.tracker, v, batchKey(b.request.Actions))
	})
	if err != nil {
		return err
	}
	ctx, holder, done, err := b.desktop.beginActing(ctx)
	if err != nil {
		return err
	}
	ok := false
	defer func() { done(ok) }()
	for i := range b.plan {
		b.report(i)
		if err := b.step(ctx, i, holder); err != nil {
			return b.failure(ctx, i, err)
		}
		if b.stopped != nil {
			break
		}
	}
	ok = true
	return nil
}

func (b *batch) report(i int) {
	if i > 0 && b.progress != nil {
		b.progress(api.Progress{
			Message: fmt.Sprintf("action %d of %d (%s)", i+1, len(b.plan), b.plan[i].Kind),
			Done:    float64(i), Total: float64(len(b.plan)),
		})
	}
}

// step runs the action at index i and waits for its effect.
func (b *batch) step(ctx context.Context, i int, holder Holder) error {
	screen, p := b.desktop.Screen, b.plan[i]
	if i > 0 { // for the first one, run has done it
		if _, err := screen.Refresh(ctx); err != nil {
			return err
		}
	}
	b.desktop.acts(p.Kind)
	// What an earlier click brings meanwhile is no reaction to this one.
	if p.presses() {
		if err := holder.Apart(ctx, p.button, p.place()); err != nil {
			return err
		}
	}
	base := settle.Look(screen.Frame(), b.session.tracker, b.desktop.busy)
	if err := b.session.perform(ctx, b.desktop, holder, p); err != nil {
		return err
	}
	out := api.Step{Index: i, Kind: p.Kind, Verdict: api.VerdictSkipped}
	after := b.pause
	if b.settles(p) {
		after = b.settle
	}
	if err := after(ctx, &out, base); err != nil {
		return err
	}
	if b.request.Screenshot == api.ScreenshotEach && i < len(b.plan)-1 && b.stopped == nil {
		if err := b.picture(ctx, &out); err != nil {
			return err
		}
	}
	b.steps = append(b.steps, out)
	return nil
}

// settles reports whether the batch waits for the screen after a step. A wait is one
// already.
func (b *batch) settles(p step) bool {
	return b.request.SettleMS == nil && b.request.Settle != api.SettleOff && p.Settle != api.SettleOff && p.Kind != api.KindWait
}

// settle waits until the screen has reacted and rests, and decides whether the batch
// goes on.
func (b *batch) settle(ctx context.Context, out *api.Step, base settle.Baseline) error {
	action := settle.Action{Kind: out.Kind, ThenKeys: b.keysFollow(out.Index), Pictured: out.Index == len(b.plan)-1 || b.request.Screenshot == api.ScreenshotEach}
	v, err := settle.Watch(ctx, b.desktop.Screen.Frame(), b.session.tracker, action, base)
	if err != nil {
		return err
	}
	out.Verdict = string(v.Outcome)
	out.Reacted = v.Reacted
	out.WaitedMS = v.Waited.Milliseconds()
	out.Region = region(v.Region)
	out.Ignored, out.Busy = v.Ignored, v.Busy
	if out.Index == len(b.plan)-1 {
		return nil // nothing is left to stop
	}
	switch {
	case v.Outcome == settle.Timeout:
		still := "the screen was still changing"
		if v.Busy {
			still = "the program still showed that it is busy"
		}
		b.stop(out.Index, still+" after "+v.Waited.Round(100*time.Millisecond).String(),
			"Wait with computer_wait until it is still, look at it, and go on with the actions that were not run.")
	case v.Outcome == settle.NoReaction && b.stopsWithoutReaction(out.Kind):
		b.stop(out.Index, "the screen did not change after the "+out.Kind,
			"That is not always a failure. Look at the screen, then go on with the actions that were not run, "+
				`with stop_on_no_reaction "never" if this one has no visible effect.`)
	}
	return nil
}

// keysFollow reports whether the action after the one at index i uses the keyboard.
func (b *batch) keysFollow(i int) bool {
	return i+1 < len(b.plan) && (b.plan[i+1].Kind == api.KindType || b.plan[i+1].Kind == api.KindKey)
}

// stopsWithoutReaction reports whether a batch stops after an action of a kind that had
// no visible effect.
func (b *batch) stopsWithoutReaction(kind string) bool {
	switch b.request.StopOnNoReaction {
	case api.StopNever:
		return false
	case api.StopAlways:
		return true
	}
	return kind == api.KindClick || kind == api.KindKey
}

// stop ends the batch after the action at index i.
func (b *batch) stop(i int, why, hint string) {
	b.stopped = &api.Stopped{At: i, Why: why, Hint: hint}
	for j := range b.plan {
		if j <= i {
			b.stopped.Done = append(b.stopped.Done, j)
		} else {
			b.stopped.NotRun = append(b.stopped.NotRun, j)
		}
	}
}

// pause waits a fixed time after a step: that of the request after the last one, a
// moment after the others.
func (b *batch) pause(ctx context.Context, out *api.Step, base settle.Baseline) error {
	pause := stepPause
	if out.Index == len(b.plan)-1 {
		pause = duration(b.request.SettleMS, 0)
	}
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	out.WaitedMS = pause.Milliseconds()
	if _, err := b.desktop.Screen.Refresh(ctx); err != nil {
		return err
	}
	var changed image.Rectangle
	b.desktop.Screen.Frame().Read(func(v frame.View) { changed = b.session.tracker.Changed(time.Now(), v, base.Stamp) })
	out.Reacted = !changed.Empty()
	out.Region = region(changed)
	return nil
}

// picture takes the image of one step, while there is room for it.
func (b *batch) picture(ctx context.Context, out *api.Step) error {
	w := b.wish()
	if b.bytes >= maxStepImages {
		w.style = api.PictureNone
	}
	var o api.Observation
	image, err := b.session.picture(ctx, b.desktop, w, &o)
	if err != nil {
		return err
	}
	out.Image = &o.Image
	if image != nil {
		b.images = append(b.images, *image)
		b.bytes += len(image.Data)
	}
	return nil
}

func (b *batch) wish() wish {
	return wish{view: b.session.viewOf(b.request.ImageOptions), style: b.request.Image}
}

// closingWish says which picture the answer closes with.
func (b *batch) closingWish() wish {
	w := b.wish()
	skipped := b.request.Observe != nil && !*b.request.Observe
	clean := b.request.Screenshot == api.ScreenshotNone && b.stopped == nil
	if skipped || clean {
		w.style = api.PictureNone
	}
	return w
}

// failure words the error of the action at index i: what went wrong, and how much was
// done before.
func (b *batch) failure(ctx context.Context, i int, err error) error {
	e := api.AsError(explain(ctx, err))
	done := "nothing was done before it"
	switch {
	case i == 1:
		done = "action 1 was done"
	case i > 1:
		done = fmt.Sprintf("actions 1 to %d were done", i)
	}
	return &api.Error{
		Code:      e.Code,
		Message:   fmt.Sprintf("action %d (%s): %s; %s.", i+1, b.plan[i].Kind, strings.TrimSuffix(e.Message, "."), done),
		Fix:       e.Fix,
		Retryable: e.Retryable && i == 0, // the same call would do again what was done
	}
}
