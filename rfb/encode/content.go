package encode

import "image"

// kind is what a part of a picture looks like.
type kind uint8

const (
	drawn kind = iota // text, lines, areas: what programs draw
	solid             // one colour
	photo             // many colours that change from pixel to pixel
)

type content struct {
	kind
	colour uint32 // of solid
}

// contentTile is the side of the squares by which content is told apart.
const contentTile = 64

// classify looks at a tile. Apart from one that is solid, a quarter of the rows
// will tell.
func (e *Encoder) classify(src Block) content {
	if isSolid(src) {
		return content{solid, src.Pix[0]}
	}
	src.Max.Y = src.Min.Y + (src.Dy()+3)/4
	src.Stride *= 4
	if e.colour.build(src, e.drawnColours()) || repeats(src) {
		return content{kind: drawn}
	}
	return content{kind: photo}
}

// isSolid reports whether src has one colour.
func isSolid(src Block) bool {
	for y := range src.Dy() {
		for _, c := range src.row(y) {
			if c != src.Pix[0] {
				return false
			}
		}
	}
	return true
}

// drawnColours is how many colours may be in a quarter of a tile that is no photo.
// JPEG begins earlier for a viewer that asks for speed, which is TurboVNC's rule.
func (e *Encoder) drawnColours() int {
	switch {
	case e.set.JPEG.Quality == 0:
		return 128 // a palette is smaller than the gradient filter up to there
	case e.set.Level < 2:
		return 12
	}
	return 48
}

// repeats reports whether pixels are mostly equal to their left neighbours, as
// they are in what programs draw, text included, however many colours it has.
func repeats(src Block) bool {
	equal := 0
	for y := range src.Dy() {
		row := src.row(y)
		for x := 1; x < len(row); x++ {
			if row[x] == row[x-1] {
				equal++
			}
		}
	}
	return equal*2 > size(src.Rectangle)
}

// contentPart is a rectangle of one content.
type contentPart struct {
	image.Rectangle
	content
}

// contentParts finds rectangles of one content.
type contentParts struct {
	found        []contentPart
	row          []contentPart // runs of equal tiles in the row at hand
	above, below []int         // indices into found of the parts that reach down to a row
}

// find cuts src into parts: runs of equal tiles, joined with equal runs below.
func (c *contentParts) find(src Block, classify func(Block) content) {
	c.found, c.above = c.found[:0], c.above[:0]
	for y := src.Min.Y; y < src.Max.Y; y += contentTile {
		c.row = c.row[:0]
		for x := src.Min.X; x < src.Max.X; x += contentTile {
			r := image.Rect(x, y, x+contentTile, y+contentTile).Intersect(src.Rectangle)
			got := classify(src.Sub(r))
			if n := len(c.row); n > 0 && c.row[n-1].content == got {
				c.row[n-1].Max.X = r.Max.X
			} else {
				c.row = append(c.row, contentPart{r, got})
			}
		}
		c.join()
	}
}

// join adds the row's runs to what was found: as parts of their own, or to parts
// above that are as wide and of the same content.
func (c *contentParts) join() {
	c.below = c.below[:0]
	i := 0
	for _, run := range c.row {
		for i < len(c.above) && c.found[c.above[i]].Min.X < run.Min.X {
			i++
		}
		if i < len(c.above) {
			part := &c.found[c.above[i]]
			if part.Min.X == run.Min.X && part.Max.X == run.Max.X && part.content == run.content {
				part.Max.Y = run.Max.Y
				c.below = append(c.below, c.above[i])
				continue
			}
		}
		c.found = append(c.found, run)
		c.below = append(c.below, len(c.found)-1)
	}
	c.above, c.below = c.below, c.above
}
