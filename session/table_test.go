package session

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// inBubble runs f in virtual time with a table that is running.
func inBubble(t *testing.T, f func(t *testing.T, table *Table, screens *fakeScreens)) {
	synctest.Test(t, func(t *testing.T) {
		table, screens := newTable(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- table.Run(ctx) }()
		f(t, table, screens)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := screens.opened(); n != 0 {
			t.Errorf("%d screens are open after the end", n)
		}
	})
}

// alive reports whether a session has not ended, once everything due has happened.
func alive(table *Table, s *Session) bool {
	synctest.Wait()
	_, err := table.Get(s.ID())
	return err == nil
}

// S0-142, S0-143: one heartbeat covers all sessions of a server process; they end 30 s
// after the last one.
func TestOwnerTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, screens *fakeScreens) {
		s := start(t, table, nil)
		other := start(t, table, func(r *api.StartRequest) { r.Owner = api.NewID() })
		observe(t, s, api.ObserveRequest{})
		time.Sleep(20 * time.Second)
		if n := table.Heartbeat(owner); n != 1 {
			t.Errorf("heartbeat covers %d sessions", n)
		}
		time.Sleep(api.OwnerTimeout - time.Millisecond)
		if !alive(table, s) {
			t.Fatal("ended too early")
		}
		if alive(table, other) {
			t.Error("the session without heartbeats lives")
		}
		time.Sleep(time.Millisecond)
		if alive(table, s) {
			t.Fatal("lives too long")
		}
		if n := screens.opened(); n != 0 {
			t.Errorf("%d screens are open", n)
		}
		_, err := table.Get(s.ID())
		if e := wantCode(t, err, api.CodeSessionEnded); !strings.Contains(e.Message, "sent no heartbeat for 30s") || !strings.Contains(e.Fix, "start_computer") {
			t.Errorf("%v", e)
		}
		if n := table.Heartbeat(owner); n != 0 {
			t.Errorf("heartbeat covers %d sessions after the end", n)
		}
	})
}

func TestStartCountsAsHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, _ *fakeScreens) {
		first := start(t, table, nil)
		time.Sleep(25 * time.Second)
		start(t, table, nil)
		time.Sleep(25 * time.Second)
		if !alive(table, first) {
			t.Error("the first session ended although its owner started another")
		}
	})
}

// beat sends heartbeats for d.
func beat(table *Table, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		table.Heartbeat(owner)
		time.Sleep(min(api.HeartbeatEvery, time.Until(end)))
	}
}

func TestIdleTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, _ *fakeScreens) {
		s := start(t, table, func(r *api.StartRequest) { r.IdleMS = 60_000 })
		beat(table, 50*time.Second)
		observe(t, s, api.ObserveRequest{}) // starts the time again
		beat(table, 59*time.Second)
		if !alive(table, s) {
			t.Fatal("ended too early")
		}
		_, done, err := s.begin(t.Context()) // a call in progress is activity
		if err != nil {
			t.Fatal(err)
		}
		beat(table, 5*time.Minute)
		if !alive(table, s) {
			t.Fatal("ended during a call")
		}
		done()
		beat(table, 59*time.Second)
		if !alive(table, s) {
			t.Fatal("the call's end did not start the time again")
		}
		beat(table, 2*time.Second)
		if alive(table, s) {
			t.Fatal("lives too long")
		}
		_, err = table.Get(s.ID())
		if e := wantCode(t, err, api.CodeSessionEnded); !strings.Contains(e.Message, "no call came for 1m0s") {
			t.Errorf("%v", e)
		}
	})
}

// S0-151
func TestWatchedSessionDoesNotIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, _ *fakeScreens) {
		s := start(t, table, func(r *api.StartRequest) { r.IdleMS = 60_000 })
		observe(t, s, api.ObserveRequest{})
		leave, ok := table.Desktop(1).Watch()
		if !ok {
			t.Fatal("cannot watch")
		}
		beat(table, 5*time.Minute)
		if !alive(table, s) {
			t.Fatal("ended while watched")
		}
		leave()
		beat(table, 59*time.Second)
		if !alive(table, s) {
			t.Fatal("idling did not start with the watcher's leave")
		}
		beat(table, 2*time.Second)
		if alive(table, s) {
			t.Fatal("lives too long")
		}
	})
}

// S0-152
func TestWatchedScreenOutlivesItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, screens *fakeScreens) {
		s := start(t, table, nil)
		observe(t, s, api.ObserveRequest{})
		d := table.Desktop(1)
		leaveA, _ := d.Watch()
		leaveB, _ := d.Watch()
		if err := table.End(s.ID()); err != nil {
			t.Fatal(err)
		}
		if alive(table, s) || screens.opened() != 1 {
			t.Fatal("the session lives or the watched screen is gone")
		}
		leaveA()
		if screens.opened() != 1 || d.Info(0).Session != "" {
			t.Fatal("the screen is gone or has a session")
		}
		leaveB()
		if screens.opened() != 0 || table.Desktop(1) != nil {
			t.Fatal("the screen stays open with nobody there")
		}
		if _, ok := d.Watch(); ok {
			t.Error("a closed screen can be watched")
		}
		select {
		case <-d.Done():
		default:
			t.Error("Done is open")
		}
	})
}

func TestRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, screens *fakeScreens) {
		a, b := start(t, table, nil), start(t, table, nil)
		other := start(t, table, func(r *api.StartRequest) { r.Owner = api.NewID() })
		observe(t, a, api.ObserveRequest{})
		observe(t, b, api.ObserveRequest{})
		if n := table.Release(owner); n != 2 {
			t.Errorf("released %d sessions", n)
		}
		if alive(table, a) || alive(table, b) || !alive(table, other) {
			t.Error("the wrong sessions ended")
		}
		if n := screens.opened(); n != 0 {
			t.Errorf("%d screens are open", n)
		}
	})
}

// S0-150
func TestEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, screens *fakeScreens) {
		s := start(t, table, nil)
		if len(screens.screens) != 0 {
			t.Fatal("start opened a screen (S0-70)")
		}
		if err := table.End(s.ID()); err != nil {
			t.Fatal(err)
		}
		wantCode(t, table.End(s.ID()), api.CodeSessionEnded)
		wantCode(t, table.End(api.NewID()), api.CodeUnknownSession)
		_, _, err := s.Observe(t.Context(), api.ObserveRequest{})
		if e := wantCode(t, err, api.CodeSessionEnded); !strings.Contains(e.Message, "end_session was called") {
			t.Errorf("%v", e)
		}
		if len(screens.screens) != 0 {
			t.Error("a screen was opened")
		}
	})
}

// A session that ends while a call waits for its screen stops the call and says why.
func TestEndStopsCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, screens *fakeScreens) {
		s := start(t, table, nil)
		answers := make(chan error)
		go func() {
			_, _, err := s.Act(t.Context(), api.ActRequest{Actions: []api.Action{{Kind: api.KindWait, MS: ptr(int64(5000))}}}, nil)
			answers <- err
		}()
		go func() {
			synctest.Wait()
			time.Sleep(time.Second)
			_, _, err := s.Observe(t.Context(), api.ObserveRequest{})
			answers <- err
		}()
		time.Sleep(2 * time.Second)
		if err := table.End(s.ID()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			wantCode(t, <-answers, api.CodeSessionEnded)
		}
		if n := screens.opened(); n != 0 {
			t.Errorf("%d screens are open", n)
		}
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, screens := newTable(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- table.Run(ctx) }()
		a, b := start(t, table, nil), start(t, table, nil)
		observe(t, a, api.ObserveRequest{})
		observe(t, b, api.ObserveRequest{})
		table.Desktop(1).Watch() // a watcher does not hold the computer up
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := screens.opened(); n != 0 {
			t.Errorf("%d screens are open", n)
		}
		_, err := table.Get(a.ID())
		if e := wantCode(t, err, api.CodeSessionEnded); !strings.Contains(e.Message, "the computer was stopped") {
			t.Errorf("%v", e)
		}
		_, err = table.Start(api.StartRequest{Title: "Late", Owner: owner})
		wantCode(t, err, api.CodeComputerStopped)
	})
}

func TestStartRefuses(t *testing.T) {
	table, _ := newTable(t)
	for _, r := range []api.StartRequest{
		{Title: " ", Owner: owner},
		{Title: "a\x07b", Owner: owner},
		{Title: "a", Owner: "me"},
		{Title: "a", Owner: owner, ScreenSize: "100x100"},
		{Title: "a", Owner: owner, IdleMS: -1},
		{Title: "a", Owner: owner, MaxSide: 10},
		{Title: "a", Owner: owner, ImageFormat: "gif"},
		{Title: "a", Owner: owner, JPEGQuality: 101},
		{Title: "a", Owner: owner, AutoIgnoreMS: ptr(int64(-1))},
		{Title: "a", Owner: owner, ElideTTLMS: ptr(int64(-1))},
	} {
		_, err := table.Start(r)
		wantCode(t, err, api.CodeBadRequest)
	}
	if n := len(table.Sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// An agent in a loop does not fill the computer.
func TestSessionsAreLimited(t *testing.T) {
	table, _ := newTable(t)
	first := start(t, table, nil)
	for range maxSessions - 1 {
		start(t, table, nil)
	}
	_, err := table.Start(api.StartRequest{Title: "Test", Owner: owner})
	if e := wantCode(t, err, api.CodeBusy); !strings.Contains(e.Message, "256") || !strings.Contains(e.Fix, "end_session") || !e.Retryable {
		t.Errorf("%v", e)
	}
	if n := len(table.Sessions()); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
	table.End(first.ID())
	start(t, table, nil)
	table.Release(owner)
}

func TestOldEndingsAreForgotten(t *testing.T) {
	table, _ := newTable(t)
	first := start(t, table, nil)
	table.End(first.ID())
	for range remembered {
		table.End(start(t, table, nil).ID())
	}
	_, err := table.Get(first.ID())
	wantCode(t, err, api.CodeUnknownSession)
	if len(table.gone) != remembered || len(table.goneIDs) != remembered {
		t.Errorf("%d endings are kept under %d ids", len(table.gone), len(table.goneIDs))
	}
}

func TestTableWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _ := newTable(t)
		seen := make(chan uint64)
		wait := func(since uint64) {
			v, err := table.Wait(t.Context(), since)
			if err != nil {
				t.Error(err)
			}
			seen <- v
		}
		go wait(0)
		synctest.Wait()
		s := start(t, table, nil)
		v := <-seen
		go wait(v)
		synctest.Wait()
		table.End(s.ID())
		if next := <-seen; next <= v {
			t.Errorf("version %d after %d", next, v)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := table.Wait(ctx, table.version); err == nil {
			t.Error("Wait returned without news")
		}
	})
}

func ptr[T any](v T) *T { return &v }
