package encode

import (
	"image"
	"slices"
)

const (
	// Two rectangles are joined when that adds at most so many pixels, or such a
	// share of the pixels. A rectangle costs about as many bytes as this many pixels
	// of text.
	mergeWaste = 4 * cellSize * cellSize
	mergeShare = 8
	// A rectangle is only compared with so many of the next, which are near it.
	mergeReach = 32
)

// merge joins rectangles of pixels where that adds little. They do not overlap,
// before and after.
func merge(rects []image.Rectangle) []image.Rectangle {
	for i := range rects {
		for j := i + 1; j < min(i+mergeReach, len(rects)); j++ {
			if rects[i].Empty() || rects[j].Empty() {
				continue // joined with another
			}
			if size(rects[i].Union(rects[j])) > 3*(size(rects[i])+size(rects[j]))+mergeWaste {
				continue // too far apart to look closer
			}
			u, area := surround(rects, rects[i].Union(rects[j]))
			if waste := size(u) - area; waste > max(mergeWaste, size(u)/mergeShare) {
				continue
			}
			for k, r := range rects {
				if r.In(u) {
					rects[k] = image.Rectangle{}
				}
			}
			rects[i] = u
			j = i // it may reach others now
		}
	}
	return slices.DeleteFunc(rects, image.Rectangle.Empty)
}

// surround widens u until no rectangle lies partly in it, and returns how many
// pixels of rectangles it then holds.
func surround(rects []image.Rectangle, u image.Rectangle) (image.Rectangle, int) {
	for {
		area, grown := 0, u
		for _, r := range rects {
			if r.Overlaps(u) {
				area += size(r)
				grown = grown.Union(r)
			}
		}
		if grown == u {
			return u, area
		}
		u = grown
	}
}

func size(r image.Rectangle) int { return r.Dx() * r.Dy() }
