package screenshot

import (
	"fmt"
	"math"

	"github.com/falleng0d/computer-use-mcp/capture/jpeg"
	"github.com/falleng0d/computer-use-mcp/capture/screenshot/png"
)

// lowerQualities are tried one after the other, below the one that was asked for,
// until a JPEG fits. Below the last one, letters blur before a smaller picture
// would blur them.
var lowerQualities = []int{60, 40}

// Encode makes a picture file of the still within the options' limits: PNG if it
// fits and the format allows it, else JPEG at falling quality, else a smaller
// picture. Region and Cursor of the options are not used: the still has them already.
// The still does not change and may be encoded again, by several goroutines too.
func (s *Still) Encode(opt Options) (*Shot, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	shot := &Shot{
		Stamp: s.Stamp, CapturedAt: s.CapturedAt,
		ScreenWidth: s.ScreenWidth, ScreenHeight: s.ScreenHeight,
		Cursor: s.Cursor, Region: s.Region,
	}
	longest := max(s.Region.Dx(), s.Region.Dy())
	side := min(longest, opt.MaxSide)
	for {
		shot.Scale = float64(side) / float64(longest)
		shot.encode(s.scaled(shot), opt)
		if len(shot.Data) <= opt.MaxBytes {
			return shot, nil
		}
		// Bytes go with the area. Aim a little lower than that, so that one more
		// round is nearly always the last.
		fit := math.Sqrt(float64(opt.MaxBytes) / float64(len(shot.Data)))
		side = max(1, int(float64(side)*min(0.9, 0.95*fit)))
	}
}

// complete fills in defaults.
func (o *Options) complete() error {
	for _, v := range []struct {
		name          string
		value         *int
		low, high, or int
	}{
		{"MaxSide", &o.MaxSide, 1, math.MaxInt, DefaultMaxSide},
		{"MaxBytes", &o.MaxBytes, MinMaxBytes, math.MaxInt, DefaultMaxBytes},
		{"Quality", &o.Quality, 1, 100, DefaultQuality},
	} {
		if *v.value == 0 {
			*v.value = v.or
		}
		if *v.value < v.low || *v.value > v.high {
			return fmt.Errorf("take screenshot: %s %d is not in %d to %d", v.name, *v.value, v.low, v.high)
		}
	}
	switch o.Format {
	case Auto, PNG, JPEG:
		return nil
	}
	return fmt.Errorf("take screenshot: unknown format %q", o.Format)
}

// scaled returns the still's pixels at the shot's scale, and sets the shot's size.
func (s *Still) scaled(shot *Shot) []uint32 {
	width, height := s.Region.Dx(), s.Region.Dy()
	shot.Width, shot.Height = width, height
	if shot.Scale == 1 {
		return s.Pix
	}
	shot.Width = max(1, int(math.Round(float64(width)*shot.Scale)))
	shot.Height = max(1, int(math.Round(float64(height)*shot.Scale)))
	return shrink(s.Pix, width, height, shot.Width, shot.Height)
}

// encode sets the shot's data: the first way of writing pix that fits into
// opt.MaxBytes, or else the smallest.
func (shot *Shot) encode(pix []uint32, opt Options) {
	if opt.Format != JPEG {
		shot.Format, shot.Quality = PNG, 0
		shot.Data = png.Append(shot.Data[:0], pix, shot.Width, shot.Width, shot.Height)
		if opt.Format == PNG || len(shot.Data) <= opt.MaxBytes {
			return
		}
	}
	shot.Format = JPEG
	chroma := jpeg.Chroma420
	if opt.FullChroma {
		chroma = jpeg.Chroma444
	}
	for _, quality := range append([]int{opt.Quality}, lowerQualities...) {
		if quality > opt.Quality {
			continue
		}
		shot.Quality = quality
		shot.Data = jpeg.Append(shot.Data[:0], pix, shot.Width, shot.Width, shot.Height,
			jpeg.Options{Quality: quality, Chroma: chroma})
		if len(shot.Data) <= opt.MaxBytes {
			return
		}
	}
}
