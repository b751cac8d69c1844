package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
	"github.com/falleng0d/computer-use-mcp/session"
	"github.com/falleng0d/computer-use-mcp/viewer"
)

// watched is a session on a real screen that people can watch.
type watched struct {
	*viewers
	t       *testing.T
	session *session.Session
	desktop *session.Desktop
}

func watch(t *testing.T) watched {
	t.Helper()
	xvfbtest.Need(t, "Xvfb", "fluxbox")
	log := slog.New(slog.DiscardHandler)
	var table *session.Table
	screens := display.New(display.Config{StateDir: t.TempDir(), Changed: func() { table.Changed() }, Logger: log})
	table = session.NewTable(session.Config{Open: openOn(screens), Logger: log})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { table.Run(ctx) })
	running.Go(func() {
		beat := time.NewTicker(api.HeartbeatEvery)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				table.Heartbeat(owner)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		closeScreens(screens, log)
	})
	s, err := table.Start(api.StartRequest{Title: "Task", Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Observe(t.Context(), api.ObserveRequest{}); err != nil {
		t.Fatal(err)
	}
	return watched{newViewers(table, log), t, s, table.Desktops()[0]}
}

// person is somebody at the viewer page.
type person struct {
	viewer.Seat
	*rfbtest.Client
	told  chan string // "mine", or why it no longer is
	leave func()
}

func (w watched) person() *person {
	w.t.Helper()
	p := &person{told: make(chan string, 10)}
	var err error
	p.Seat, err = w.Sit(w.desktop.Screen.Number(), "127.0.0.1:1", func(mine bool, why string) {
		if mine {
			why = "mine"
		}
		p.told <- why
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, theirs) }()
	p.leave = sync.OnceFunc(func() {
		ours.Close()
		stop()
		<-served
	})
	w.t.Cleanup(p.leave)
	p.Client = rfbtest.New(ours)
	if err := p.Handshake(rfbtest.Options{}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (p *person) wantTold(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-p.told:
		if got != want {
			t.Errorf("the person was told %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("the person was not told %q", want)
	}
}

// pointer returns where the pointer is when all input has arrived.
func (w watched) pointer() (x, y int) {
	w.t.Helper()
	if _, err := w.desktop.Screen.Refresh(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.desktop.Screen.Frame().Read(func(v frame.View) { x, y = v.Cursor.X, v.Cursor.Y })
	return x, y
}

// movesTo points somewhere and waits until it is so.
func (p *person) movesTo(w watched, x, y int) {
	w.t.Helper()
	if err := p.Pointer(x, y, 0); err != nil {
		w.t.Fatal(err)
	}
	w.wantPointer(x, y)
}

// wantPointer waits until the pointer is somewhere.
func (w watched) wantPointer(x, y int) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if gx, gy := w.pointer(); gx == x && gy == y {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the pointer does not come to %d, %d", x, y)
		}
	}
}

func code(err error) api.Code {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	return ""
}

func batch(ms int64) api.ActRequest {
	x := 10
	return api.ActRequest{Actions: []api.Action{{Kind: api.KindDown, X: &x, Y: &x}, {Kind: api.KindWait, MS: &ms}}, Settle: api.SettleOff}
}

// waitActing waits until a batch that began after a moment is in its wait.
func (w watched) waitActing(after time.Time) {
	for kind, at := "", after; kind != api.KindWait || !at.After(after); {
		time.Sleep(time.Millisecond)
		kind, at = w.desktop.LastAction()
	}
}

// S0-2: a person follows a screen and drives it.
func TestAPersonTakesOverARealScreen(t *testing.T) {
	w := watch(t)
	p := w.person()
	if n := w.desktop.Watchers(); n != 1 {
		t.Errorf("%d watchers", n)
	}

	// Locked, the pointer stays where the agent has put it.
	if _, _, err := w.session.Act(t.Context(), batch(0), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Pointer(300, 300, 1); err != nil {
		t.Fatal(err)
	}
	// The answer to a request comes after everything before it was read.
	if err := p.RequestAll(false); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(); err != nil {
		t.Fatal(err)
	}
	if x, y := w.pointer(); x != 10 || y != 10 {
		t.Errorf("a locked person moved the pointer to %d, %d", x, y)
	}

	// Taking over stops what the agent is doing.
	failed := make(chan error)
	before := time.Now()
	go func() {
		_, _, err := w.session.Act(context.Background(), batch(4000), nil)
		failed <- err
	}()
	w.waitActing(before)
	start := time.Now()
	if err := p.TakeControl(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	if err := <-failed; code(err) != api.CodeHumanInControl {
		t.Errorf("the batch ended with %v", err)
	}
	t.Logf("taken over after %v", took)
	if took > 100*time.Millisecond && !testing.Short() {
		t.Errorf("taking over took %v", took)
	}
	p.wantTold(t, "mine")
	p.movesTo(w, 200, 150)
	if _, _, err := w.session.Act(t.Context(), batch(0), nil); code(err) != api.CodeHumanInControl {
		t.Errorf("an act against a person: %v", err)
	}
	// S1-42, S1-43: nor does the agent change what the person pastes; looking is free.
	text := "the agent's"
	if _, err := w.session.Clipboard(t.Context(), api.ClipboardRequest{Action: api.ClipboardSet, Text: &text}); code(err) != api.CodeHumanInControl {
		t.Errorf("the clipboard against a person: %v", err)
	}
	if r, err := w.session.Clipboard(t.Context(), api.ClipboardRequest{Action: api.ClipboardGet}); err != nil || r.Text == text {
		t.Errorf("the clipboard holds %q, %v", r.Text, err)
	}
	o, _, err := w.session.Observe(t.Context(), api.ObserveRequest{})
	if err != nil || !o.Human.InControl || !o.Human.ActedSinceLastCall {
		t.Errorf("observed %+v, %v", o.Human, err)
	}

	// Another one takes it, and the first is told.
	other := w.person()
	if err := other.TakeControl(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantTold(t, whyReplaced)
	other.wantTold(t, "mine")
	other.movesTo(w, 50, 60)

	// Handed back, the agent learns that somebody acted, and goes on.
	other.HandBack()
	other.wantTold(t, "")
	o, _, err = w.session.Observe(t.Context(), api.ObserveRequest{})
	if err != nil || o.Human.InControl || !o.Human.ActedSinceLastCall || o.Human.SinceAt == nil {
		t.Errorf("observed %+v, %v", o.Human, err)
	}
	if _, _, err := w.session.Act(t.Context(), batch(0), nil); err != nil {
		t.Error(err)
	}

	// Whoever leaves without a word gives control back, too.
	if err := other.TakeControl(t.Context()); err != nil {
		t.Fatal(err)
	}
	other.leave()
	if _, _, err := w.session.Act(t.Context(), batch(0), nil); err != nil {
		t.Error(err)
	}
}

func TestAPersonAnswersTheAgent(t *testing.T) {
	w := watch(t)
	for _, answer := range []viewer.Answer{viewer.HandedBack, viewer.Declined} {
		result := make(chan string)
		go func() {
			r, _, err := w.session.RequestHuman(context.Background(), api.HumanRequest{Reason: "a code"}, nil)
			if err != nil {
				t.Error(err)
			}
			result <- r.Outcome
		}()
		var version uint64
		for w.Sessions()[0].Request == nil {
			version, _ = w.Wait(t.Context(), version)
		}
		if r := w.Sessions()[0].Request; r.Reason != "a code" {
			t.Errorf("the page shows %q", r.Reason)
		}
		w.Answer(w.desktop.Screen.Number(), answer)
		if got := <-result; got != string(answer) {
			t.Errorf("the agent learns %q, want %q", got, answer)
		}
	}
}

// S0-152
func TestAWatchedScreenOutlivesItsSession(t *testing.T) {
	w := watch(t)
	p := w.person()
	if err := w.table.End(w.session.ID()); err != nil {
		t.Fatal(err)
	}
	if list := w.Sessions(); len(list) != 1 || list[0].State != viewer.Ended || list[0].Viewers != 1 || list[0].Title != "Task" {
		t.Errorf("the page lists %+v", list)
	}
	if err := p.TakeControl(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.movesTo(w, 20, 20)
	p.leave()
	if list := w.Sessions(); len(list) != 0 {
		t.Errorf("the page lists %+v", list)
	}
	if _, err := w.Sit(1, "", nil); err == nil {
		t.Error("somebody took a seat at a closed screen")
	}
	if len(w.boards) != 0 {
		t.Error("a board is left")
	}
}

// Issue 5, item 6: the page says that a screen is being started again, and when it is back.
func TestThePageListsAScreenThatStartsAgain(t *testing.T) {
	w := watch(t)
	wait := func(want viewer.State) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var version uint64
		var err error
		for w.Sessions()[0].State != want {
			if version, err = w.Wait(ctx, version); err != nil {
				t.Fatalf("the page lists %+v, not %s: %v", w.Sessions(), want, err)
			}
		}
	}
	wait(viewer.Live)
	if err := syscall.Kill(w.desktop.Screen.XvfbPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(viewer.Restarting)
	wait(viewer.Live)
}

func TestOnlySoManyWatchAScreen(t *testing.T) {
	w := watch(t)
	for range maxSeats {
		w.person()
	}
	for len(w.boards[w.desktop].screen.Viewers()) < maxSeats {
		time.Sleep(time.Millisecond) // the last one is being counted
	}
	if _, err := w.Sit(w.desktop.Screen.Number(), "", nil); err == nil {
		t.Error("one more took a seat")
	}
	if n := w.desktop.Watchers(); n != maxSeats {
		t.Errorf("%d watchers", n)
	}
}
