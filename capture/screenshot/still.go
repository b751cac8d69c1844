package screenshot

import (
	"image"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Still is a copy of a screen's pixels at one moment. To encode pixels from
// elsewhere, fill in Region and Pix.
type Still struct {
	Stamp        frame.Stamp
	CapturedAt   time.Time
	ScreenWidth  int // pixels
	ScreenHeight int
	Cursor       frame.Cursor
	Region       image.Rectangle // the part of the screen that Pix holds; not empty
	Pix          []uint32        // Region's pixels 0x00RRGGBB, row by row
}

// copy makes s a copy of a region of the view, the whole screen for the zero value, with
// the cursor drawn in when asked. It keeps the memory that s has. Errors are a
// [RegionError] or [ErrNoFrame].
func (s *Still) copy(v frame.View, region image.Rectangle, cursor bool) error {
	screen := v.Bounds()
	if screen.Empty() {
		return ErrNoFrame
	}
	if region == (image.Rectangle{}) {
		region = screen
	}
	if region.Empty() || !region.In(screen) {
		return &RegionError{Region: region, ScreenWidth: v.Width, ScreenHeight: v.Height}
	}
	n := region.Dx() * region.Dy()
	if cap(s.Pix) < n {
		s.Pix = make([]uint32, n)
	}
	s.Pix = s.Pix[:n]
	v.Copy(s.Pix, region.Dx(), region)
	s.Stamp, s.CapturedAt = v.Stamp, v.Published
	s.ScreenWidth, s.ScreenHeight = v.Width, v.Height
	s.Cursor, s.Region = v.Cursor, region
	if cursor {
		v.Cursor.Draw(s.Pix, region.Dx(), region)
	}
	return nil
}
