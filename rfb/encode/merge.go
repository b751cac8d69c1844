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
	for i := 0; i < len(rects); i++ {
		for j := i + 1; j < min(i+mergeReach, len(rects)); {
			u, area := surround(rects, rects[i].Union(rects[j]))
			if waste := size(u) - area; waste > max(mergeWaste, size(u)/mergeShare) {
				j++
				continue
			}
			rects[i] = u
			rest := slices.DeleteFunc(rects[i+1:], func(r image.Rectangle) bool { return r.In(u) })
			rects = rects[:i+1+len(rest)]
			rects = append(slices.DeleteFunc(rects[:i], func(r image.Rectangle) bool { return r.In(u) }), rects[i:]...)
			i = slices.Index(rects, u)
			j = i + 1
		}
	}
	return rects
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
