package rfb

import "time"

// flow measures a viewer by fences: each asks for an echo that the viewer sends
// when it has dealt with all before it. Under continuous updates, where no request
// sets the pace, flow bounds how much is on its way.
type flow struct {
	told           bool // the viewer knows that fences are understood
	continuousTold bool

	marks       []mark // fences on their way, oldest first
	last        byte   // payload of the latest
	sent, acked int64  // bytes of updates
	rates       recent // bytes per second
	trips       recent // nanoseconds
}

// mark is what was known when a fence was sent.
type mark struct {
	payload     byte
	at          time.Time
	sent, acked int64
}

const (
	maxMarks  = 64
	minWindow = 64 << 10 // bytes that may always be on their way
)

// appendFence appends a fence after an update of n bytes.
func (f *flow) appendFence(dst []byte, n int64) []byte {
	f.sent += n
	f.last++
	f.marks = append(f.marks, mark{f.last, time.Now(), f.sent, f.acked})
	return appendFence(dst, fenceRequest|fenceBlockBefore, []byte{f.last})
}

// answered notes an echo. One that was not asked for means nothing.
func (f *flow) answered(payload []byte) {
	if len(payload) != 1 || len(f.marks) == 0 || f.marks[0].payload != payload[0] {
		return
	}
	m := f.marks[0]
	f.marks = append(f.marks[:0], f.marks[1:]...)
	trip := max(time.Since(m.at), time.Microsecond)
	f.acked = m.sent
	f.trips.add(float64(trip))
	f.rates.add(float64(f.acked-m.acked) / trip.Seconds())
}

// open tells whether another update may be sent under continuous updates. What
// may be on its way is what the line and the viewer were seen to take in a round
// trip, and a little more: so that they can decode one update while the next is
// encoded, and are not a perceptible time behind.
func (f *flow) open() bool {
	behind := f.rtt() + time.Second/30
	window := max(minWindow, int64(f.rates.max()*behind.Seconds()))
	return f.sent-f.acked < window && len(f.marks) < maxMarks
}

// rtt is the least of the latest round trips.
func (f *flow) rtt() time.Duration { return time.Duration(f.trips.min()) }

// overdue tells when the viewer will have left a fence unanswered for too long;
// zero when none is on its way.
func (f *flow) overdue() time.Time {
	if len(f.marks) == 0 {
		return time.Time{}
	}
	return f.marks[0].at.Add(2 * stallTimeout)
}

// recent holds the latest measurements.
type recent struct {
	values [16]float64
	n      int
}

func (r *recent) add(v float64) {
	r.values[r.n%len(r.values)] = v
	r.n++
}

func (r *recent) known() []float64 { return r.values[:min(r.n, len(r.values))] }

// max returns the greatest, or 0.
func (r *recent) max() float64 {
	most := 0.0
	for _, v := range r.known() {
		most = max(most, v)
	}
	return most
}

// min returns the least, or 0.
func (r *recent) min() float64 {
	if r.n == 0 {
		return 0
	}
	least := r.known()[0]
	for _, v := range r.known() {
		least = min(least, v)
	}
	return least
}
