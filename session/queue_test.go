package session

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func TestQueueKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		leave, err := q.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		done := make(chan struct{})
		impatient, giveUp := context.WithCancel(t.Context())
		for i := range 20 {
			go func() {
				defer func() { done <- struct{}{} }()
				ctx := t.Context()
				if i%3 == 1 {
					ctx = impatient
				}
				leave, err := q.enter(ctx)
				if err != nil {
					return
				}
				order = append(order, i) // one at a time: the race detector agrees
				leave()
			}()
			synctest.Wait() // so that they come in order
		}
		giveUp()
		synctest.Wait()
		leave()
		for range 20 {
			<-done
		}
		var want []int
		for i := range 20 {
			if i%3 != 1 {
				want = append(want, i)
			}
		}
		if !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}
