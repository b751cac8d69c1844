package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/control"
)

func TestRequestHuman(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		lease := s.Desktop().Control
		ask := func(r api.HumanRequest) (api.HumanResult, error) {
			result, _, err := s.RequestHuman(t.Context(), r, nil)
			return result, err
		}
		for _, r := range []api.HumanRequest{{}, {Reason: " "}, {Reason: "a", TimeoutMS: ptr(int64(-1))}} {
			_, err := ask(r)
			wantCode(t, err, api.CodeBadRequest)
		}
		type answer struct {
			api.HumanResult
			err error
		}
		answers := make(chan answer)
		please := func(r api.HumanRequest) {
			go func() {
				result, err := ask(r)
				answers <- answer{result, err}
			}()
			synctest.Wait()
		}
		person := control.Person{Name: "the page", Lost: func(control.Loss) {}}

		please(api.HumanRequest{Reason: "Solve the puzzle."})
		if got := lease.State().Reason; got != "Solve the puzzle." {
			t.Errorf("reason %q", got)
		}
		observe(t, s, api.ObserveRequest{}) // does not wait for the person
		_, err := ask(api.HumanRequest{Reason: "Another."})
		wantCode(t, err, api.CodeBusy)
		lease.Take(person).HandBack()
		if a := <-answers; a.err != nil || a.Outcome != api.HumanHandedBack || a.Frame.Width != 320 {
			t.Errorf("%+v", a)
		}

		please(api.HumanRequest{Reason: "Again."})
		lease.Answer(control.Declined)
		if a := <-answers; a.err != nil || a.Outcome != api.HumanDeclined {
			t.Errorf("%+v", a)
		}

		began := time.Now()
		if r, err := ask(api.HumanRequest{Reason: "Anybody?"}); err != nil || r.Outcome != api.HumanTimedOut || time.Since(began) != api.DefaultHumanTimeout {
			t.Errorf("%+v, %v after %v", r, err, time.Since(began))
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err = s.RequestHuman(ctx, api.HumanRequest{Reason: "Anybody?"}, nil)
		wantCode(t, err, api.CodeTimeout)
		if got := lease.State().Reason; got != "" {
			t.Errorf("the request stays open: %q", got)
		}
	})
}

// A session that waits for a person does not idle, and its end ends the waiting.
func TestRequestHumanEndsWithTheSession(t *testing.T) {
	inBubble(t, func(t *testing.T, table *Table, _ *fakeScreens) {
		s := start(t, table, func(r *api.StartRequest) { r.IdleMS = 1000 })
		answer := make(chan error)
		go func() {
			_, _, err := s.RequestHuman(t.Context(), api.HumanRequest{Reason: "Help.", TimeoutMS: ptr(int64(3_600_000))}, nil)
			answer <- err
		}()
		beat(table, time.Minute)
		if !alive(table, s) {
			t.Fatal("the session idled")
		}
		table.End(s.ID())
		wantCode(t, <-answer, api.CodeSessionEnded)
	})
}
