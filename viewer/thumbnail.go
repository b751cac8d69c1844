package viewer

import (
	"context"
	"slices"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/jpeg"
)

const (
	minThumbnail = 64  // pixels, of the width
	maxThumbnail = 640 // likewise

	// thumbEvery is the least time between two pictures of one screen. With many
	// screens it is thumbShare for each: a picture of a screen on which everything has
	// changed takes 3 to 4 ms to be compared, copied, shrunk and encoded, and a page
	// shall cost 3 % of a core, however many screens it shows.
	thumbEvery = 500 * time.Millisecond
	thumbShare = 125 * time.Millisecond

	thumbWait    = 5 * time.Second
	thumbQuality = 70
	maxScreen    = 99
)

// watched is a screen of which the page gets thumbnails.
type watched struct {
	width int
	stop  context.CancelFunc
}

// watch makes the page get thumbnails of these screens, width pixels wide, and of no
// others. The reader calls it.
func (p *page) watch(screens []int, width int) {
	width = min(max(width, minThumbnail), maxThumbnail)
	p.pace.Store(int64(max(thumbEvery, time.Duration(len(screens))*thumbShare)))
	for screen, w := range p.watching {
		if w.width != width || !slices.Contains(screens, screen) {
			w.stop()
			delete(p.watching, screen)
		}
	}
	for _, screen := range screens {
		if _, ok := p.watching[screen]; ok || screen < 1 || screen > maxScreen {
			continue
		}
		ctx, stop := context.WithCancel(p.ctx)
		p.watching[screen] = watched{width, stop}
		p.painting.Go(func() { p.paint(ctx, screen, width) })
	}
}

// paint sends a thumbnail of a screen now and whenever its pixels have changed, until
// ctx ends.
func (p *page) paint(ctx context.Context, screen, width int) {
	var shown *frame.Buffer
	var seen frame.Stamp
	var small []uint32
	for ctx.Err() == nil {
		buffer := p.server.cfg.Computer.Frame(screen)
		if buffer != shown {
			shown, seen = buffer, frame.Stamp{}
		}
		stamp := waitFor(ctx, buffer, seen)
		if stamp.Epoch != seen.Epoch || stamp.Gen != seen.Gen { // not just the pointer
			var picture []byte
			picture, small = appendThumbnail([]byte{byte(screen)}, buffer, width, small)
			select {
			case p.thumbs <- picture:
			case <-ctx.Done():
			}
		}
		seen = stamp
		select {
		case <-time.After(time.Duration(p.pace.Load())):
		case <-ctx.Done():
		}
	}
}

// waitFor waits for a change of the picture, but not for ever: the screen may be closed
// meanwhile and another one opened under its number.
func waitFor(ctx context.Context, buffer *frame.Buffer, seen frame.Stamp) frame.Stamp {
	if buffer == nil {
		return seen
	}
	ctx, cancel := context.WithTimeout(ctx, thumbWait)
	defer cancel()
	stamp, _ := buffer.Wait(ctx, seen)
	return stamp
}

// appendThumbnail appends a JPEG file of a whole screen, at most width pixels wide. It
// appends nothing for a screen without a picture. small is memory to be used again,
// which it returns.
func appendThumbnail(dst []byte, buffer *frame.Buffer, width int, small []uint32) ([]byte, []uint32) {
	var height int
	buffer.Read(func(v frame.View) {
		if v.Width == 0 || v.Height == 0 {
			return
		}
		width = min(width, v.Width)
		height = max(1, v.Height*width/v.Width)
		small = shrink(small[:0], v.Pix, v.Width, v.Height, width, height)
	})
	if height == 0 {
		return dst, small
	}
	return jpeg.Append(dst, small, width, width, height, jpeg.Options{Quality: thumbQuality, Chroma: jpeg.Chroma420}), small
}

// shrink appends a smaller picture, each pixel the mean of four spread over those that it
// stands for. All of them would look a little better and take four times as long.
func shrink(dst, pix []uint32, width, height, toWidth, toHeight int) []uint32 {
	dst = slices.Grow(dst, toWidth*toHeight)
	columns := make([][2]int, toWidth)
	for x := range columns {
		columns[x] = taps(x, width, toWidth)
	}
	for y := range toHeight {
		rows := taps(y, height, toHeight)
		upper, lower := pix[rows[0]*width:][:width], pix[rows[1]*width:][:width]
		for _, c := range columns {
			dst = append(dst, mean(upper[c[0]], upper[c[1]], lower[c[0]], lower[c[1]]))
		}
	}
	return dst
}

// taps returns the two places of from, a quarter in from either end, that stand for
// place i of to.
func taps(i, from, to int) [2]int {
	return [2]int{(4*i + 1) * from / (4 * to), (4*i + 3) * from / (4 * to)}
}

// mean returns the mean of four pixels. Red and blue are summed in one number.
func mean(a, b, c, d uint32) uint32 {
	const redBlue, green = 0xff00ff, 0x00ff00
	rb := a&redBlue + b&redBlue + c&redBlue + d&redBlue
	g := a&green + b&green + c&green + d&green
	return rb>>2&redBlue | g>>2&green
}
