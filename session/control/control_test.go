package control

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// screen is a Lease whose hooks and people write down what happened, in order.
type screen struct {
	*Lease
	mu  sync.Mutex
	log []string
}

func newScreen() *screen {
	s := new(screen)
	s.Lease = New(Hooks{Release: func() { s.note("released") }, Changed: func() {}})
	return s
}

func (s *screen) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

func (s *screen) person(name string) Person {
	return Person{Name: name, Lost: func(l Loss) { s.note(name + [...]string{" replaced", " expired"}[l]) }}
}

func (s *screen) wantLog(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.log, want) {
		t.Errorf("happened: %q, want %q", s.log, want)
	}
}

func (s *screen) wantHolder(t *testing.T, p Party, name string) {
	t.Helper()
	if state := s.State(); state.Holder != p || state.Name != name {
		t.Errorf("%v %q has control, want %v %q", state.Holder, state.Name, p, name)
	}
}

// S1-42, S1-45, S1-47, S1-49: the batch is cancelled and waited for, what it pressed is
// released, and only then does the person act.
func TestTakingControlEndsTheBatchBeforeThePersonActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		ctx, done, err := s.Act(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.wantHolder(t, Agent, "")
		go func() {
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond) // a program that is slow to stop
			s.note("batch ended")
			done()
		}()
		start := time.Now()
		g := s.Take(s.person("ann"))
		if waited := time.Since(start); waited != 50*time.Millisecond {
			t.Errorf("waited %v for the batch, want 50ms", waited)
		}
		s.wantLog(t, "batch ended", "released")
		if context.Cause(ctx) != ErrPerson {
			t.Errorf("the batch was cancelled with %v", context.Cause(ctx))
		}
		if !g.Acts() {
			t.Error("the person may not act")
		}
		if _, _, err := s.Act(t.Context()); err != ErrPerson {
			t.Errorf("a batch while a person has control: %v", err)
		}
		g.HandBack()
		s.wantHolder(t, Nobody, "")
		if g.Acts() {
			t.Error("the person may still act after handing back")
		}
		_, done, err = s.Act(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done()
	})
}

// S1-47: waiting for the agent takes a second at most.
func TestAPersonWinsOverABatchThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		_, done, _ := s.Act(t.Context())
		start := time.Now()
		g := s.Take(s.person("ann"))
		if waited := time.Since(start); waited != Handover {
			t.Errorf("waited %v, want %v", waited, Handover)
		}
		if !g.Acts() {
			t.Error("the person has no control")
		}
		s.wantLog(t) // what the batch pressed is released when it ends
		done()
		synctest.Wait()
		s.wantLog(t, "released")
		s.wantHolder(t, Human, "ann")
		g.Leave()
	})
}

func TestTheLaterPersonHasControlAndTheEarlierIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		ann := s.Take(s.person("ann"))
		bob := s.Take(s.person("bob"))
		s.wantLog(t, "released", "ann replaced", "released")
		if ann.Acts() || ann.Holds() {
			t.Error("ann still has control")
		}
		ann.HandBack() // too late to take it from bob
		s.wantHolder(t, Human, "bob")
		bob.Leave()
	})
}

func TestPressingAKeyDoesNotInterruptAnActivePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		ann := s.TakeByPress(s.person("ann"))
		if ann == nil {
			t.Fatal("a key press took no control from nobody")
		}
		time.Sleep(Courtesy - 1)
		if s.TakeByPress(s.person("bob")) != nil {
			t.Error("bob took control from ann, who had just acted")
		}
		ann.Acts()
		time.Sleep(Courtesy)
		bob := s.TakeByPress(s.person("bob"))
		if bob == nil {
			t.Fatal("bob did not get control from ann, who was still")
		}
		bob.Leave()
	})
}

func TestAKeyPressTakesControlFromTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		_, done, _ := s.Act(t.Context())
		done()
		g := s.TakeByPress(s.person("ann"))
		if g == nil {
			t.Fatal("a key press did not take control from the agent")
		}
		s.wantLog(t, "released")
		g.Leave()
	})
}

// S1-40, S1-41: control lasts 90 s from its holder's last sign, and a batch that runs is one.
func TestControlExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		g := s.Take(s.person("ann"))
		for range 3 {
			time.Sleep(Expiry - time.Second)
			if !g.Acts() {
				t.Fatal("control ended although the person acted")
			}
		}
		time.Sleep(Expiry - 1)
		synctest.Wait()
		s.wantHolder(t, Human, "ann")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		s.wantHolder(t, Nobody, "")
		s.wantLog(t, "released", "ann expired")

		_, done, _ := s.Act(t.Context())
		time.Sleep(3 * Expiry)
		synctest.Wait()
		s.wantHolder(t, Agent, "") // its batch is running
		done()
		time.Sleep(2 * Expiry)
		synctest.Wait()
		s.wantHolder(t, Nobody, "")
	})
}

func TestATimerOfAnEarlierHolderDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		s.Take(s.person("ann"))
		time.Sleep(Expiry - time.Second)
		bob := s.Take(s.person("bob"))
		time.Sleep(Expiry - time.Second)
		synctest.Wait()
		s.wantHolder(t, Human, "bob")
		bob.Leave()
	})
}

func TestTheReportSaysWhatPeopleDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen()
		if r := s.Report(); r != (Report{}) {
			t.Errorf("nobody was there: %+v", r)
		}
		took := time.Now()
		g := s.Take(s.person("ann"))
		if r := s.Report(); r != (Report{InControl: true, Since: took}) {
			t.Errorf("taken, but not acted: %+v", r)
		}
		time.Sleep(time.Second)
		first := time.Now()
		g.Acts()
		time.Sleep(time.Second)
		g.Acts()
		g.HandBack()
		if r := s.Report(); r != (Report{Acted: true, Since: first}) {
			t.Errorf("acted and handed back: %+v", r)
		}
		if r := s.Report(); r != (Report{}) {
			t.Errorf("reported twice: %+v", r)
		}
	})
}

func TestAskingForAPerson(t *testing.T) {
	for _, test := range []struct {
		name   string
		person func(s *screen)
		want   Outcome
		err    error
	}{
		{"handed back by who took control", func(s *screen) { s.Take(s.person("ann")).HandBack() }, HandedBack, nil},
		{"answered without control", func(s *screen) { s.Answer(HandedBack) }, HandedBack, nil},
		{"declined", func(s *screen) { s.Answer(Declined) }, Declined, nil},
		{"left", func(s *screen) { s.Take(s.person("ann")).Leave() }, "", context.DeadlineExceeded},
		{"nobody there", func(s *screen) {}, "", context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScreen()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				go func() {
					time.Sleep(time.Second)
					if state := s.State(); state.Reason != "a captcha" || time.Since(state.AskedAt) != time.Second {
						t.Errorf("asked for %q at %v", state.Reason, state.AskedAt)
					}
					if _, err := s.Ask(ctx, "again"); err != ErrAsked {
						t.Errorf("asked twice: %v", err)
					}
					test.person(s)
				}()
				outcome, err := s.Ask(ctx, "a captcha")
				if outcome != test.want || !errors.Is(err, test.err) {
					t.Errorf("outcome %q, %v; want %q, %v", outcome, err, test.want, test.err)
				}
				if s.State().Reason != "" || s.Answer(Declined) {
					t.Error("the request is still open")
				}
			})
		})
	}
}

// S1-39: however people and an agent compete, no batch runs on while a person has control.
func TestOnlyOneActs(t *testing.T) {
	s := newScreen()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				g := s.Take(s.person("somebody"))
				g.Acts()
				g.HandBack()
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			ctx, done, err := s.Act(context.Background())
			if err != nil {
				continue
			}
			if s.State().Holder == Human && ctx.Err() == nil {
				t.Error("a batch runs on while a person has control")
			}
			done()
		}
	})
	wg.Wait()
	s.wantHolder(t, Nobody, "")
}
