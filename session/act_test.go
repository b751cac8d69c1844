package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

// actRequest reads a request; actions alone may be given as a list.
func actRequest(t *testing.T, s string) api.ActRequest {
	t.Helper()
	if strings.HasPrefix(s, "[") {
		s = `{"settle":"off","actions":` + s + `}`
	}
	var r api.ActRequest
	if err := json.Unmarshal([]byte(s), &r); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return r
}

func act(t *testing.T, s *Session, request string) (api.ActResult, []Image) {
	t.Helper()
	result, images, err := s.Act(t.Context(), actRequest(t, request), nil)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return result, images
}

// withSession runs f in virtual time with a session whose screen of 320x320 pixels is
// open and seen.
func withSession(t *testing.T, f func(t *testing.T, s *Session, screen *fakeScreen)) {
	synctest.Test(t, func(t *testing.T) {
		table, screens := newTable(t)
		s := start(t, table, nil)
		observe(t, s, api.ObserveRequest{})
		f(t, s, screens.last())
		table.End(s.ID())
		if held := screens.last().pressed(); len(held) > 0 {
			t.Errorf("held after the end: %v", held)
		}
	})
}

// S0-74, S0-81, S3-2, S2-26, S2-28: what each kind of action does; a double or right click
// is a click with that said.
func TestActions(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		for _, c := range []struct{ in, want string }{
			{`{"kind":"click","x":3,"y":4}`, "move 3,4; button 1 true; button 1 false"},
			{`{"kind":"click","x":3,"y":4,"button":"right","double":true}`, "move 3,4; button 3 true; button 3 false; button 3 true; button 3 false"},
			{
				`{"kind":"click","x":3,"y":4,"button":"back","modifiers":["ctrl","cmd"]}`,
				"move 3,4; key 0xffe3 true; key 0xffeb true; button 8 true; button 8 false; key 0xffeb false; key 0xffe3 false",
			},
			{`{"kind":"move","x":319,"y":0}`, "move 319,0"},
			{`{"kind":"down","button":"middle"}`, "button 2 true"},
			{`{"kind":"up","x":1,"y":2,"button":"middle"}`, "move 1,2; button 2 false"},
			{`{"kind":"drag","x":0,"y":0,"to_x":20,"to_y":10,"duration_ms":0}`, "drag 1 (0,0) (20,10) 0s"},
			{`{"kind":"type","text":"-n é\n"}`, `type "-n é\n"`},
			{`{"kind":"key","key":"enter"}`, "chord [] 0xff0d"},
			{`{"kind":"key","key":"T","modifiers":["ctrl","shift"],"repeat":2}`, "chord [0xffe3 0xffe1] 0x74; chord [0xffe3 0xffe1] 0x74"},
			{`{"kind":"scroll","direction":"down"}`, "scroll 5 3"},
			{`{"kind":"scroll","direction":"left","amount":20,"x":5,"y":5,"modifiers":["shift"]}`, "move 5,5; key 0xffe1 true; scroll 6 20; key 0xffe1 false"},
			{`{"kind":"wait","ms":10}`, ""},
		} {
			screen.taken()
			act(t, s, "["+c.in+"]")
			if got := strings.Join(screen.taken(), "; "); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
			}
		}
	})
}

// S0-75, S3-3, S2-15: nothing of a batch runs when one of its actions cannot.
func TestActRefusesTheWholeBatch(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		move := `{"kind":"move","x":1,"y":1}`
		for _, c := range []struct{ in, want string }{
			{`{"kind":"click","x":320,"y":4}`, "action 3 (click): x 320 is outside the 320x320 screen (0 to 319)."},
			{`{"kind":"click","x":0,"y":1500}`, "action 3 (click): y 1500 is outside the 320x320 screen (0 to 319)."},
			{`{"kind":"drag","x":0,"y":1,"to_x":0,"to_y":320}`, "action 3 (drag): to_y 320 is outside"},
			{`{"kind":"key","key":"entr"}`, `action 3 (key): there is no key "entr" (did you mean "enter"`},
			{`{"kind":"key","key":"a","modifiers":["hyperdrive"]}`, `there is no modifier "hyperdrive"`},
			{`{"kind":"click","x":1,"y":1,"modifiers":["ctl"]}`, `action 3 (click): there is no modifier "ctl" (did you mean "ctrl"?)`},
			{`{"kind":"type","text":"a\u001b"}`, "action 3 (type): the control character U+001B (ESC) at character 2 cannot be typed"},
			{`{"kind":"tap"}`, `action 3 (tap): kind "tap" is unknown`},
		} {
			_, _, err := s.Act(t.Context(), actRequest(t, "["+move+","+move+","+c.in+"]"), nil)
			if e := wantCode(t, err, api.CodeBadRequest); !strings.Contains(e.Message, c.want) {
				t.Errorf("%s: %s", c.in, e.Message)
			}
			if got := screen.taken(); len(got) > 0 {
				t.Fatalf("%s: ran %v", c.in, got)
			}
		}
	})
}

func TestActOpensTheScreen(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, nil)
	// A batch that is wrong on any screen does not open one.
	_, _, err := s.Act(t.Context(), api.ActRequest{}, nil)
	wantCode(t, err, api.CodeBadRequest)
	if len(screens.screens) != 0 {
		t.Error("a screen was opened")
	}
	result, images := act(t, s, `[{"kind":"wait","ms":0}]`)
	if len(screens.screens) != 1 || len(images) != 1 || result.Image.State != api.ImageSent {
		t.Errorf("%+v with %d images", result.Image, len(images))
	}
	table.End(s.ID())
}

// S2-44: a failure ends the batch and is told as it is, with what was done before it.
func TestFailureReleases(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		screen.onInput = func(e string) {
			if e == "button 1 true" {
				screen.fail = errors.New("the X server is gone")
			}
		}
		_, _, err := s.Act(t.Context(), actRequest(t, `[{"kind":"move","x":1,"y":1},{"kind":"click","x":1,"y":1,"modifiers":["shift"]}]`), nil)
		e := wantCode(t, err, api.CodeScreenFailed)
		if e.Message != "action 2 (click): It did not work: the X server is gone; action 1 was done." || e.Retryable {
			t.Errorf("%+v", e)
		}
		if held := screen.pressed(); len(held) > 0 {
			t.Errorf("held: %v", held)
		}
	})
}

func TestCancelReleases(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, _, err := s.Act(ctx, actRequest(t, `[{"kind":"down"},{"kind":"key","key":"a","hold_ms":5000}]`), nil)
		wantCode(t, err, api.CodeCanceled)
		if d := time.Since(began); d != time.Second {
			t.Errorf("took %v", d)
		}
		if held := screen.pressed(); len(held) > 0 {
			t.Errorf("held: %v", held)
		}
	})
}

// What a batch presses on purpose stays pressed until up, a failure or the end.
func TestDownStaysPressed(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		act(t, s, `[{"kind":"down","x":1,"y":1}]`)
		act(t, s, `[{"kind":"move","x":9,"y":9}]`)
		if held := screen.pressed(); !slices.Equal(held, []string{"button 1"}) {
			t.Errorf("held: %v", held)
		}
		act(t, s, `[{"kind":"up"}]`)
		if held := screen.pressed(); len(held) > 0 {
			t.Errorf("held: %v", held)
		}
		act(t, s, `[{"kind":"down"}]`) // left for the session's end
	})
}

// S1-42, S1-45, S1-49, S3-39: what a person takes is the agent's no more: its batch ends,
// nothing stays pressed, and the next call says why.
func TestTakeControl(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		lease := s.desktop.Control
		person := control.Person{Name: "the page", Lost: func(control.Loss) {}}
		answer := make(chan error)
		run := func() {
			_, _, err := s.Act(t.Context(), actRequest(t, `[{"kind":"key","key":"a","hold_ms":5000}]`), nil)
			answer <- err
		}
		go run()
		time.Sleep(time.Second)
		grant := lease.Take(person)
		if held := screen.pressed(); len(held) > 0 {
			t.Errorf("held after a person took control: %v", held)
		}
		wantCode(t, <-answer, api.CodeHumanInControl)
		go run()
		if e := wantCode(t, <-answer, api.CodeHumanInControl); !e.Retryable || !strings.Contains(e.Fix, "human.in_control") {
			t.Errorf("%v", e)
		}
		grant.Acts()
		if o, _ := observe(t, s, api.ObserveRequest{}); !o.Human.InControl || !o.Human.ActedSinceLastCall || o.Human.SinceAt == nil {
			t.Errorf("%+v", o.Human)
		}
		grant.HandBack()
		if o, _ := observe(t, s, api.ObserveRequest{}); o.Human != (api.Human{}) {
			t.Errorf("%+v", o.Human)
		}
		go run()
		if err := <-answer; err != nil {
			t.Error(err)
		}
		// Without a batch, what an earlier one left pressed is released.
		act(t, s, `[{"kind":"down"}]`)
		lease.Take(person)
		if held := screen.pressed(); len(held) > 0 {
			t.Errorf("held: %v", held)
		}
	})
}

// S0-87, S0x.7.
func TestLoopGuard(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		try := func(request string) error {
			_, _, err := s.Act(t.Context(), actRequest(t, request), nil)
			return err
		}
		click := `[{"kind":"click","x":1,"y":1},{"kind":"wait","ms":1}]`
		must := func(n int, request string) {
			t.Helper()
			for i := range n {
				if err := try(request); err != nil {
					t.Fatalf("run %d: %v", i+1, err)
				}
			}
		}
		must(3, click)
		wantCode(t, try(click), api.CodeLoopRefused)
		wantCode(t, try(click), api.CodeLoopRefused) // and stays refused
		screen.paint(image.Rect(0, 0, 8, 16), 1)     // as small as a caret
		wantCode(t, try(click), api.CodeLoopRefused)
		screen.paint(image.Rect(0, 0, 32, 8), 1) // the screen changes by itself
		must(3, click)
		wantCode(t, try(click), api.CodeLoopRefused)
		must(1, `[{"kind":"move","x":2,"y":2}]`) // something else
		must(2, click)

		// A batch with an effect is no loop.
		colour := uint32(10)
		screen.onInput = func(string) { colour++; screen.paint(image.Rect(8, 8, 16, 16), colour) }
		must(10, click)
		screen.onInput = nil

		must(10, `[{"kind":"type","text":"a"}]`)
		must(10, `[{"kind":"wait","ms":1}]`)
		must(3, `[{"kind":"key","key":"down"}]`)
		wantCode(t, try(`[{"kind":"key","key":"down"}]`), api.CodeLoopRefused)
		must(3, `[{"kind":"key","key":"up"}]`)
	})
}

// A caret that blinks is not an effect: the guard refuses as soon as it is known.
func TestLoopGuardKnowsCarets(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for c := uint32(1); sleep(ctx, 530*time.Millisecond) == nil; c++ {
				screen.paint(image.Rect(50, 40, 51, 60), c%2)
			}
		}()
		var err error
		runs := 0
		for err == nil && runs < 20 {
			time.Sleep(1900 * time.Millisecond) // the agent thinks
			_, _, err = s.Act(ctx, actRequest(t, `{"actions":[{"kind":"click","x":1,"y":1}]}`), nil)
			runs++
		}
		wantCode(t, err, api.CodeLoopRefused)
		if runs > 10 {
			t.Errorf("refused only the run %d", runs)
		}
	})
}

// reactAfter paints a square of 32 pixels some time after each press of the button.
func reactAfter(screen *fakeScreen, d time.Duration) {
	colour := uint32(1)
	screen.onInput = func(e string) {
		if e == "button 1 true" {
			time.AfterFunc(d, func() { colour++; screen.paint(image.Rect(32, 32, 64, 64), colour) })
		}
	}
}

// S3-4, S3-8: each step settles before the next, and one image closes the batch.
func TestSettle(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		reactAfter(screen, 150*time.Millisecond)
		began := time.Now()
		result, images := act(t, s, `{"actions":[{"kind":"click","x":1,"y":1},{"kind":"wait","ms":100},{"kind":"click","x":1,"y":1}]}`)
		if took := time.Since(began); took < 800*time.Millisecond || took > 1200*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if len(result.Steps) != 3 || result.Stopped != nil || len(images) != 1 {
			t.Fatalf("%+v with %d images", result, len(images))
		}
		for i, want := range []string{api.VerdictSettled, api.VerdictSkipped, api.VerdictSettled} {
			if step := result.Steps[i]; step.Verdict != want || step.Index != i {
				t.Errorf("step %d: %+v", i, step)
			}
		}
		if step := result.Steps[2]; !step.Reacted || step.Region == nil || *step.Region != (api.Region{X: 32, Y: 32, Width: 32, Height: 32}) || step.WaitedMS < 150 {
			t.Errorf("%+v", step)
		}
	})
}

// S3-6, S3-7, S3-8
func TestStopWithoutReaction(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		batch := `"actions":[{"kind":"move","x":5,"y":5},{"kind":"click","x":1,"y":1},{"kind":"type","text":"a"}]`
		result, _ := act(t, s, `{`+batch+`,"screenshot":"none"}`)
		if result.Stopped == nil || result.Stopped.At != 1 || !slices.Equal(result.Stopped.Done, []int{0, 1}) || !slices.Equal(result.Stopped.NotRun, []int{2}) {
			t.Fatalf("%+v", result.Stopped)
		}
		if !strings.Contains(result.Stopped.Hint, "stop_on_no_reaction") || result.Steps[1].Verdict != api.VerdictNoReaction {
			t.Errorf("%+v", result)
		}
		if result.Image.State == api.ImageNone {
			t.Error("a batch that stopped early shows no screen")
		}
		if result, _ := act(t, s, `{`+batch+`,"stop_on_no_reaction":"never","screenshot":"none"}`); result.Stopped != nil || result.Image.State != api.ImageNone {
			t.Errorf("never: %+v", result)
		}
		if result, _ := act(t, s, `{`+batch+`,"stop_on_no_reaction":"always"}`); result.Stopped == nil || result.Stopped.At != 0 {
			t.Errorf("always: %+v", result.Stopped)
		}
		// The last action has nothing to stop.
		if result, _ := act(t, s, `{"actions":[{"kind":"click","x":2,"y":1}]}`); result.Stopped != nil {
			t.Errorf("%+v", result.Stopped)
		}
		if result, _ := act(t, s, `{"actions":[{"kind":"click","x":2,"y":1,"settle":"off"},{"kind":"move","x":2,"y":2}]}`); result.Stopped != nil || result.Steps[0].Verdict != api.VerdictSkipped {
			t.Errorf("%+v", result)
		}
	})
}

// What an earlier click brings while this one waits to be no double click is no reaction.
func TestWhatComesBeforeAClick(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		screen.onApart = func() { screen.paint(image.Rect(0, 0, 64, 64), 7) }
		for _, action := range []string{`{"kind":"click","x":1,"y":1}`, `{"kind":"down"}`, `{"kind":"drag","x":1,"y":1,"to_x":2,"to_y":2}`} {
			if result, _ := act(t, s, `{"actions":[`+action+`]}`); result.Steps[0].Verdict != api.VerdictNoReaction {
				t.Errorf("%s: %+v", action, result.Steps[0])
			}
			screen.paint(image.Rect(0, 0, 64, 64), 0)
			act(t, s, `{"actions":[{"kind":"up"}]}`)
		}
	})
}

// Keys wait for what a click brings up late; other actions do not.
func TestKeysWaitForTheClick(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		reactAfter(screen, 700*time.Millisecond)
		for next, want := range map[string]string{
			`{"kind":"type","text":"a"}`:       api.VerdictSettled,
			`{"kind":"key","key":"enter"}`:     api.VerdictSettled,
			`{"kind":"move","x":300,"y":300}`:  api.VerdictNoReaction,
			`{"kind":"click","x":200,"y":200}`: api.VerdictNoReaction,
		} {
			result, _ := act(t, s, `{"actions":[{"kind":"click","x":1,"y":1},`+next+`]}`)
			if got := result.Steps[0].Verdict; got != want {
				t.Errorf("then %s: %s, want %s", next, got, want)
			}
			if (result.Stopped == nil) != (want == api.VerdictSettled) {
				t.Errorf("then %s: %+v", next, result.Stopped)
			}
			time.Sleep(time.Second)
		}
	})
}

// S3-5: even a batch that was told never to stop for want of a reaction.
func TestTimeoutStops(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // the whole screen flickers
			for c := uint32(1); sleep(ctx, 50*time.Millisecond) == nil; c++ {
				screen.paint(image.Rect(0, 0, 320, 320), c)
			}
		}()
		result, _ := act(t, s, `{"actions":[{"kind":"click","x":1,"y":1},{"kind":"move","x":1,"y":1}],"stop_on_no_reaction":"never"}`)
		if result.Stopped == nil || result.Steps[0].Verdict != api.VerdictTimeout || !strings.Contains(result.Stopped.Why, "still changing") {
			t.Errorf("%+v", result)
		}
	})
}

// S3-15, S3-47: an answer names the parts that are left out by themselves, and there are
// none where the user has switched that off.
func TestAutoIgnoreIsAChoice(t *testing.T) {
	for _, ttl := range []*int64{nil, ptr(int64(0))} {
		synctest.Test(t, func(t *testing.T) {
			table, screens := newTable(t)
			s := start(t, table, func(r *api.StartRequest) { r.AutoIgnoreMS = ttl })
			observe(t, s, api.ObserveRequest{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { // a corner that never rests
				for c := uint32(1); sleep(ctx, 50*time.Millisecond) == nil; c++ {
					screens.last().paint(image.Rect(0, 0, 64, 64), c)
				}
			}()
			for range 2 {
				act(t, s, `{"actions":[{"kind":"click","x":200,"y":200}]}`)
			}
			o, _ := observe(t, s, api.ObserveRequest{})
			var want []api.Region
			if ttl == nil {
				want = []api.Region{{Width: 64, Height: 64}}
			}
			if !slices.Equal(o.Settle.AutoIgnored, want) {
				t.Errorf("left out: %+v, want %+v", o.Settle.AutoIgnored, want)
			}
			table.End(s.ID())
		})
	}
}

// S0-84: with settle_ms the picture is taken that long after the last action.
func TestFixedSettle(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		reactAfter(screen, 500*time.Millisecond)
		began := time.Now()
		result, images := act(t, s, `{"actions":[{"kind":"move","x":1,"y":1},{"kind":"click","x":1,"y":1}],"settle_ms":700}`)
		if took := time.Since(began); took != 730*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if step := result.Steps[1]; step.Verdict != api.VerdictSkipped || !step.Reacted || step.WaitedMS != 700 || step.Region == nil {
			t.Errorf("%+v", step)
		}
		if len(images) != 1 {
			t.Errorf("%d images", len(images))
		}
	})
}

func TestImagesOfSteps(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		colour := uint32(1)
		screen.onInput = func(string) { colour++; screen.paint(image.Rect(0, 0, 8, 8), colour) }
		move := func(n int) string { return fmt.Sprintf(`{"kind":"move","x":%d,"y":1}`, n) }
		batch := `"settle":"off","actions":[` + move(1) + `,` + move(2) + `,{"kind":"wait","ms":1},` + move(3) + `]`
		result, images := act(t, s, `{`+batch+`,"screenshot":"each"}`)
		if len(images) != 3 || result.Image.State != api.ImageSent {
			t.Errorf("%d images, closing one %s", len(images), result.Image.State)
		}
		for i, want := range []string{api.ImageSent, api.ImageSent, api.ImageUnchanged} {
			if step := result.Steps[i]; step.Image == nil || step.Image.State != want {
				t.Errorf("step %d: %+v", i, step.Image)
			}
		}
		if result.Steps[3].Image != nil {
			t.Error("the last step has an image beside the closing one")
		}
		// S0-86.
		if result, images := act(t, s, `{`+batch+`,"observe":false}`); len(images) != 0 || result.Image.State != api.ImageNone {
			t.Errorf("%d images, %s", len(images), result.Image.State)
		}
		if result, images := act(t, s, `{`+batch+`,"image":"none"}`); len(images) != 0 || result.Image.State != api.ImageNone {
			t.Errorf("%d images, %s", len(images), result.Image.State)
		}
		observe(t, s, api.ObserveRequest{Force: true})
		var i api.Image
		for _, style := range []string{"crop", "auto"} {
			result, images := act(t, s, `{`+batch+`,"image":"`+style+`"}`)
			i = result.Image
			if len(images) != 1 || i.Region == nil || i.Width != 8 || i.PatchesFrame == 0 {
				t.Errorf("%s: %d images, %+v", style, len(images), i)
			}
		}
		// Patches end when the agent may have lost the image that they go on.
		for range 3 {
			time.Sleep(20 * time.Second)
			i = first(act(t, s, `{`+batch+`,"image":"crop"}`)).Image
		}
		if i.PatchesFrame != 0 || i.Region != nil {
			t.Errorf("a patch on an image of a minute ago: %+v", i)
		}
		screen.onInput = nil
		for _, style := range []string{"crop", "full"} { // S0-85; the pointer ends where it was
			if result, images := act(t, s, `{`+batch+`,"image":"`+style+`"}`); len(images) != 0 || result.Image.State != api.ImageUnchanged {
				t.Errorf("%s of nothing: %d images, %s", style, len(images), result.Image.State)
			}
		}
		// A large change, or a screen that the agent has not seen, is sent whole.
		screen.paint(image.Rect(0, 0, 200, 200), 77)
		if i := first(act(t, s, `{`+batch+`,"image":"auto"}`)).Image; i.Region != nil || i.PatchesFrame != 0 {
			t.Errorf("%+v", i)
		}
		screen.buf.Reset(320, 320)
		if i := first(act(t, s, `{`+batch+`,"image":"crop"}`)).Image; i.Region != nil || i.PatchesFrame != 0 {
			t.Errorf("%+v", i)
		}
	})
}

func first[A, B any](a A, _ B) A { return a }

func TestProgress(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		var reports []api.Progress
		_, _, err := s.Act(t.Context(), actRequest(t, `[{"kind":"wait","ms":1},{"kind":"move","x":1,"y":1}]`), func(p api.Progress) { reports = append(reports, p) })
		if err != nil || len(reports) != 1 || reports[0].Done != 1 || reports[0].Total != 2 || reports[0].Message != "action 2 of 2 (move)" {
			t.Errorf("%v, %+v", err, reports)
		}
	})
}

// S0-82: by class or title, the exact class first.
func TestFocusActivates(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		screen.windows = []x11.Window{
			{ID: 1, Title: "xterm notes", Class: "Editor"},
			{ID: 2, Title: "shell", Class: "UXTerm"},
			{ID: 3, Title: "shell", Class: "XTerm"},
			{ID: 4, Title: "Quarterly Report", Class: "Writer"},
		}
		for name, want := range map[string]string{"xterm": "activate 3", "uxt": "activate 2", "terminal": "activate 3", "notes": "activate 1", "quarterly": "activate 4"} {
			screen.taken()
			act(t, s, `[{"kind":"focus","application":"`+name+`"}]`)
			if got := screen.taken(); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %v, want %s", name, got, want)
			}
		}
	})
}

func TestFocusUnknownApplication(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		_, _, err := s.Act(t.Context(), actRequest(t, `[{"kind":"focus","application":"no such program"}]`), nil)
		wantCode(t, err, api.CodeNotFound)
		_, _, err = s.Act(t.Context(), actRequest(t, `[{"kind":"focus","application":"xterm","uri":"-e"}]`), nil)
		wantCode(t, err, api.CodeBadRequest)
	})
}
