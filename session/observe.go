package session

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/capture/screenshot"
	"github.com/falleng0d/computer-use-mcp/display/x11"
)

// Image is a picture file of an answer.
type Image struct {
	ContentType string // image/png or image/jpeg
	Data        []byte
}

// seen is what the session has received of its screen: the last whole image and the
// patches on it since.
type seen struct {
	stamp   frame.Stamp  // of the last image
	cursor  frame.Cursor // as it was then
	at      time.Time    // when it was sent; zero when none was
	wholeAt time.Time    // when the last one was sent that is no patch
	view    view
}

// view is how a picture shows the screen. Pictures of one view can be compared.
type view struct {
	region  image.Rectangle // empty for the whole screen
	maxSide int
	format  screenshot.Format
	cursor  bool
}

func (s *Session) viewOf(o api.ImageOptions) view {
	v := view{maxSide: s.settings.maxSide, format: s.settings.format, cursor: true}
	if o.Region != nil {
		v.region = rectangle(*o.Region)
	}
	if o.MaxSide != 0 {
		v.maxSide = min(o.MaxSide, s.settings.maxSide)
	}
	if o.Format != "" {
		v.format = screenshot.Format(o.Format)
	}
	if o.Cursor != nil {
		v.cursor = *o.Cursor
	}
	return v
}

// wish says which picture an answer should have.
type wish struct {
	view  view
	style string // a Picture value of package api; empty is full
	force bool   // send it even when nothing changed
}

// whole reports whether nothing less than the whole view will do.
func (w wish) whole() bool { return w.style == "" || w.style == api.PictureFull }

// Observe answers with the session's screen as it is now. The first call opens it.
func (s *Session) Observe(ctx context.Context, r api.ObserveRequest) (o api.Observation, images []Image, err error) {
	if err := r.ImageOptions.Check(); err != nil {
		return o, nil, err
	}
	err = s.inTurn(ctx, func(ctx context.Context, d *Desktop) error {
		if err := checkRegion(d.Screen, r.Region); err != nil {
			return err
		}
		picture := wish{view: s.viewOf(r.ImageOptions), force: r.Force}
		o, images, err = s.look(ctx, d, picture)
		return err
	})
	return o, images, err
}

// look takes a picture of the screen as it is now and describes the rest of it.
func (s *Session) look(ctx context.Context, d *Desktop, w wish) (o api.Observation, images []Image, err error) {
	picture, err := s.picture(ctx, d, w, &o)
	if err != nil {
		return o, nil, err
	}
	if picture != nil {
		images = []Image{*picture}
	}
	windows, err := d.Screen.Windows(ctx)
	if err != nil {
		return o, nil, err
	}
	o.Windows = make([]api.Window, 0, len(windows))
	for _, w := range windows {
		said := window(w)
		if w.Focused {
			o.ActiveWindow = said.Title
		}
		o.Windows = append(o.Windows, said)
	}
	o.Human = d.human()
	o.Settle = s.settleState()
	o.Notes = d.Screen.TakeNotes()
	if d.browser != nil {
		o.Notes = append(o.Notes, d.browser.TakeNotes()...)
	}
	return o, images, nil
}

// picture fills in o's frame, image and cursor from the screen as it is now. It returns
// the picture that w asks for, nil when none is due, and remembers what the agent has
// seen.
func (s *Session) picture(ctx context.Context, d *Desktop, w wish, o *api.Observation) (*Image, error) {
	if _, err := d.Screen.Refresh(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	var show image.Rectangle
	var looked frame.Stamp
	var cursor frame.Cursor
	d.Screen.Frame().Read(func(v frame.View) {
		looked, cursor = v.Stamp, v.Cursor
		o.Frame = api.Frame{ID: v.Stamp.Gen, Epoch: v.Stamp.Epoch, CapturedAt: now.UTC(), Width: v.Width, Height: v.Height}
		o.Cursor = api.Point{X: v.Cursor.X, Y: v.Cursor.Y}
		o.Image, show = s.choose(v, w, now)
	})
	if o.Image.State != api.ImageSent {
		return nil, nil
	}
	shot, err := screenshot.Take(d.Screen.Frame(), screenshot.Options{
		Region: show, Cursor: w.view.cursor, MaxSide: w.view.maxSide, Format: w.view.format, Quality: s.settings.quality,
	})
	if err != nil {
		return nil, regionError(err)
	}
	// The screen may have changed since it was looked at; the picture decides.
	o.Frame.ID, o.Frame.Epoch = shot.Stamp.Gen, shot.Stamp.Epoch
	o.Cursor = api.Point{X: shot.Cursor.X, Y: shot.Cursor.Y}
	i := &o.Image
	i.Width, i.Height, i.Scale = shot.Width, shot.Height, shot.Scale
	i.Format, i.Bytes = string(shot.Format), len(shot.Data)
	if shot.Region != image.Rect(0, 0, shot.ScreenWidth, shot.ScreenHeight) {
		i.Region = region(shot.Region)
	}
	if i.PatchesFrame != 0 {
		// What changed meanwhile may lie outside the patch.
		s.seen.stamp, s.seen.cursor, s.seen.at = looked, cursor, now
	} else {
		s.seen = seen{stamp: shot.Stamp, cursor: shot.Cursor, at: now, wholeAt: now, view: w.view}
	}
	return &Image{ContentType: shot.Format.MIME(), Data: shot.Data}, nil
}

// choose decides whether a picture is sent and which part of the screen it shows,
// empty for all of it.
func (s *Session) choose(v frame.View, w wish, now time.Time) (i api.Image, show image.Rectangle) {
	var changed image.Rectangle
	if !s.seen.at.IsZero() {
		changed = changedSince(v, s.seen.stamp)
		i.Changed = region(changed)
		i.AgeMS = now.Sub(s.seen.at).Milliseconds()
	}
	switch {
	case w.style == api.PictureNone:
		i.State = api.ImageNone
		return i, show
	case !w.force && s.unchanged(v, w, changed, now):
		i.State = api.ImageUnchanged
		return i, show
	case s.patches(v, w, changed, now):
		i.PatchesFrame = s.seen.stamp.Gen
		show = changed
	default:
		show = w.view.region
	}
	i.State, i.AgeMS = api.ImageSent, 0
	return i, show
}

// fresh reports whether the last image is of the same view of the same screen and young
// enough for the agent to remember it.
func (s *Session) fresh(v frame.View, w wish, now time.Time) bool {
	return !s.seen.at.IsZero() && s.seen.view == w.view && s.seen.stamp.Epoch == v.Stamp.Epoch &&
		now.Sub(s.seen.at) < s.settings.elideTTL
}

// unchanged reports whether the last image still shows what a new one would. A pointer
// that moved makes a new whole image, but no new patch: its place is in the answer.
func (s *Session) unchanged(v frame.View, w wish, changed image.Rectangle, now time.Time) bool {
	if !s.fresh(v, w, now) {
		return false
	}
	// Not the stamp's count of its changes: a program was busy for a moment, and the
	// pointer is what it was.
	if is, was := v.Cursor, s.seen.cursor; w.whole() && w.view.cursor && (is.Serial != was.Serial || is.X != was.X || is.Y != was.Y) {
		return false
	}
	if !w.view.region.Empty() {
		changed = changed.Intersect(w.view.region)
	}
	return changed.Empty()
}

// largestPatch is the share of the screen above which an automatic picture is whole.
const largestPatch = 0.25

// patches reports whether a picture of the changed part alone is wanted and enough: the
// agent holds a whole one to put it on, which it remembers.
func (s *Session) patches(v frame.View, w wish, changed image.Rectangle, now time.Time) bool {
	if w.whole() || !w.view.region.Empty() || changed.Empty() || !s.fresh(v, w, now) ||
		now.Sub(s.seen.wholeAt) >= s.settings.elideTTL {
		return false
	}
	area := float64(changed.Dx()*changed.Dy()) / float64(v.Width*v.Height)
	return w.style == api.PictureCrop || area <= largestPatch
}

// changedSince bounds what changed after since.
func changedSince(v frame.View, since frame.Stamp) image.Rectangle {
	var cells frame.CellSet
	v.Changed(since, &cells)
	return cells.Bounds()
}

// checkRegion refuses a region that is not on the screen.
func checkRegion(s Screen, r *api.Region) error {
	if r == nil {
		return nil
	}
	width, height := size(s)
	if rect := rectangle(*r); !rect.In(image.Rect(0, 0, width, height)) {
		return regionError(&screenshot.RegionError{Region: rect, ScreenWidth: width, ScreenHeight: height})
	}
	return nil
}

// regionError makes a refusal of a screenshot's complaint about the region.
func regionError(err error) error {
	if e, ok := errors.AsType[*screenshot.RegionError](err); ok {
		return api.Errorf(api.CodeBadRequest, "The %v.", e).WithFix("Give a region that lies on the screen.")
	}
	return err
}

func rectangle(r api.Region) image.Rectangle {
	return image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height)
}

// region is the opposite of rectangle; nil for an empty one.
func region(r image.Rectangle) *api.Region {
	if r.Empty() {
		return nil
	}
	return &api.Region{X: r.Min.X, Y: r.Min.Y, Width: r.Dx(), Height: r.Dy()}
}

func regions(list []image.Rectangle) []api.Region {
	out := make([]api.Region, 0, len(list))
	for _, r := range slices.DeleteFunc(slices.Clone(list), image.Rectangle.Empty) {
		out = append(out, *region(r))
	}
	return out
}

// maxWindowText is how many characters of a title or class an answer has: programs and web
// pages choose them, and they come with every answer.
const maxWindowText = 200

func window(w x11.Window) api.Window {
	return api.Window{
		Title: shortened(w.Title), Class: shortened(w.Class), X: w.Rect.Min.X, Y: w.Rect.Min.Y,
		Width: w.Rect.Dx(), Height: w.Rect.Dy(), Focused: w.Focused, Hidden: w.Hidden,
	}
}

// shortened cuts what is longer than maxWindowText.
func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxWindowText {
		return text
	}
	return fmt.Sprintf("%.*s…", maxWindowText-1, text)
}
