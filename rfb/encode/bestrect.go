package encode

import "image"

// bestRect finds the rectangle of matching cells that saves the most.
type bestRect struct {
	area    image.Rectangle
	sums    []int32 // of the dirty cells above and left of a corner of area's cells
	heights []int   // of the columns of matching cells that end in the row at hand
	stack   []int
}

// load notes which cells of an area a rectangle saves.
func (b *bestRect) load(dirty *grid, area image.Rectangle) {
	b.area = area
	left := area.Min.X - dirty.area.Min.X
	w := b.area.Dx() + 1
	b.sums = append(b.sums[:0], make([]int32, w*(b.area.Dy()+1))...)
	for y := range b.area.Dy() {
		sum := int32(0)
		for x, marked := range dirty.row(area.Min.Y + y)[left:][:area.Dx()] {
			if marked {
				sum++
			}
			b.sums[(y+1)*w+x+1] = b.sums[y*w+x+1] + sum
		}
	}
}

// saved returns how many dirty cells are in a rectangle, counted from area's corner.
func (b *bestRect) saved(x0, y0, x1, y1 int) int {
	w := b.area.Dx() + 1
	return int(b.sums[y1*w+x1] - b.sums[y0*w+x1] - b.sums[y1*w+x0] + b.sums[y0*w+x0])
}

// find returns a rectangle of cells and how many dirty ones it has.
func (b *bestRect) find(match *grid) (best image.Rectangle, most int) {
	w := b.area.Dx()
	b.heights = append(b.heights[:0], make([]int, w+1)...)
	for y := range b.area.Dy() {
		for x, ok := range match.row(b.area.Min.Y + y) {
			if ok {
				b.heights[x]++
			} else {
				b.heights[x] = 0
			}
		}
		// The columns on the stack are ever higher. A lower one, or the end of the
		// row, ends the widest rectangle of each height above it.
		b.stack = b.stack[:0]
		for x := 0; x <= w; x++ {
			for len(b.stack) > 0 && b.heights[b.stack[len(b.stack)-1]] >= b.heights[x] {
				h := b.heights[b.stack[len(b.stack)-1]]
				b.stack = b.stack[:len(b.stack)-1]
				x0 := 0
				if len(b.stack) > 0 {
					x0 = b.stack[len(b.stack)-1] + 1
				}
				if n := b.saved(x0, y+1-h, x, y+1); n > most {
					most = n
					best = image.Rect(x0, y+1-h, x, y+1).Add(b.area.Min)
				}
			}
			b.stack = append(b.stack, x)
		}
	}
	return best, most
}
