package shell

import (
	"context"
	"io"
	"os"
	"sync"
)

// ring keeps the last bytes of a job's output in a file that has no name, so that it is
// gone when it is closed, and with the process. Offsets count from the first byte ever
// written. All methods may be called from any goroutine.
type ring struct {
	file *os.File
	size int64 // bytes that are kept

	mu    sync.Mutex
	total int64         // guarded by mu; bytes written so far
	err   error         // guarded by mu; the last that went wrong with the disk
	news  chan struct{} // guarded by mu; closed and replaced when total grows
}

func newRing(dir string, size int64) (*ring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "job-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	return &ring{file: f, size: size, news: make(chan struct{})}, nil
}

// Write never fails: a job must not stop because the disk is full. What the disk did
// not take reads as NULs, and err tells of it.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	r.total += int64(n)
	p = p[max(0, int64(n)-r.size):]
	at := (r.total - int64(len(p))) % r.size
	first := min(int64(len(p)), r.size-at)
	if _, err := r.file.WriteAt(p[:first], at); err != nil {
		r.err = err
	}
	if _, err := r.file.WriteAt(p[first:], 0); err != nil {
		r.err = err
	}
	close(r.news)
	r.news = make(chan struct{})
	return n, nil
}

// read returns at most most bytes from an offset on, where they begin, and how many
// bytes were written so far. They begin later when the oldest ones are gone. offset is
// not negative.
func (r *ring) read(offset int64, most int) (data []byte, start, total int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start = min(max(offset, r.total-r.size), r.total)
	data = make([]byte, min(int64(most), r.total-start))
	at := start % r.size
	first := min(int64(len(data)), r.size-at)
	err = r.err
	for _, part := range []struct {
		to   []byte
		from int64
	}{{data[:first], at}, {data[first:], 0}} {
		if _, e := r.file.ReadAt(part.to, part.from); e != nil && e != io.EOF {
			err = e
		}
	}
	return data, start, r.total, err
}

// wait returns when something was written behind an offset, or when ctx or done ends.
func (r *ring) wait(ctx context.Context, offset int64, done <-chan struct{}) {
	for {
		r.mu.Lock()
		total, news := r.total, r.news
		r.mu.Unlock()
		if total > offset {
			return
		}
		select {
		case <-news:
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (r *ring) written() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

func (r *ring) close() { r.file.Close() }
