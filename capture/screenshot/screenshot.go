// Package screenshot makes picture files of a screen for a model to look at: the
// whole screen or a region, scaled down and compressed until it is within the
// limits that MCP clients put on images. Every [Shot] states how its pixels map to
// the screen's.
//
// [Take] does it for what a Buffer holds; pixels from elsewhere go into a [Still].
package screenshot

import (
	"errors"
	"fmt"
	"image"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// Format is a picture file's format.
type Format string

// Formats. Auto is for [Options] only: PNG when it fits into MaxBytes, else JPEG.
const (
	Auto Format = ""
	PNG  Format = "png"
	JPEG Format = "jpeg"
)

// MIME returns the format's content type.
func (f Format) MIME() string { return "image/" + string(f) }

// Defaults and limits of [Options]. Known clients refuse pictures above the defaults.
const (
	DefaultMaxSide  = 2000      // pixels
	DefaultMaxBytes = 1_000_000 // bytes of the file
	DefaultQuality  = 80
	MinMaxBytes     = 1024 // the smallest MaxBytes: a JPEG of one pixel is near it
)

// Options choose what a picture shows and how large it may get. The zero value is
// the whole screen without the cursor, within the default limits.
type Options struct {
	Region   image.Rectangle // in screen pixels; the zero value means the whole screen
	Cursor   bool            // draw the pointer into the picture
	MaxSide  int             // longest side in pixels, at least 1; 0 is DefaultMaxSide
	MaxBytes int             // size of the file, at least MinMaxBytes; 0 is DefaultMaxBytes
	Format   Format
	// Quality is the highest JPEG quality, 1 to 100; 0 is DefaultQuality. A lower
	// one is used when the file would be larger than MaxBytes.
	Quality int
	// FullChroma keeps a JPEG's colours at full resolution (4:4:4), which makes
	// small coloured text readable in a file about a third larger.
	FullChroma bool
}

// Shot is a picture file of a screen.
type Shot struct {
	Stamp        frame.Stamp
	CapturedAt   time.Time // when Stamp was published; nothing has changed since
	ScreenWidth  int       // pixels
	ScreenHeight int
	Cursor       frame.Cursor    // as it was, drawn in or not
	Region       image.Rectangle // the part of the screen that the picture shows
	Width        int             // of the picture, in pixels
	Height       int
	// Scale is picture pixels per screen pixel, at most 1. The picture's point x, y
	// shows the screen's point Region.Min + (x, y)/Scale.
	Scale   float64
	Format  Format // PNG or JPEG
	Quality int    // of a JPEG; 0 for PNG, which keeps every pixel
	Data    []byte
}

// RegionError reports a region that is not inside the screen.
type RegionError struct {
	Region       image.Rectangle
	ScreenWidth  int
	ScreenHeight int
}

func (e *RegionError) Error() string {
	r := e.Region
	return fmt.Sprintf("region x=%d y=%d width=%d height=%d is not inside the screen of %dx%d pixels",
		r.Min.X, r.Min.Y, r.Dx(), r.Dy(), e.ScreenWidth, e.ScreenHeight)
}

// ErrNoFrame is returned for a screen of which nothing was captured yet.
var ErrNoFrame = errors.New("take screenshot: nothing was captured yet")

// stills are reused by Take: a still of a screen is several megabytes.
var stills = sync.Pool{New: func() any { return new(Still) }}

// Take makes a picture file of what buf holds now. Errors are a [RegionError],
// [ErrNoFrame] or an option out of range. It may be called from any goroutine; the
// Buffer's writer waits only while pixels are copied.
func Take(buf *frame.Buffer, opt Options) (*Shot, error) {
	still := stills.Get().(*Still)
	defer stills.Put(still)
	var err error
	buf.Read(func(v frame.View) { err = still.copy(v, opt.Region, opt.Cursor) })
	if err != nil {
		return nil, err
	}
	return still.Encode(opt)
}
