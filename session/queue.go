package session

import (
	"context"
	"sync"
)

// queue lets callers through one at a time in the order they came. A mutex would
// neither keep the order nor let a waiting caller give up. The zero value is free.
type queue struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last caller in the queue has left; nil at first
}

// enter returns when every earlier caller has left, or with ctx's error. The caller
// must call leave exactly once.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	mine := make(chan struct{})
	q.mu.Lock()
	before := q.last
	q.last = mine
	q.mu.Unlock()
	if before == nil {
		return func() { close(mine) }, nil
	}
	select {
	case <-before:
		return func() { close(mine) }, nil
	case <-ctx.Done():
		// The next caller waits for this one, so its place is kept until it is due.
		go func() {
			<-before
			close(mine)
		}()
		return nil, ctx.Err()
	}
}
