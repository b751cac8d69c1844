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

// classify looks at a tile.
func (e *Encoder) classify(src Block) content {
	if e.colour.build(src, e.drawnColours()) {
		if len(e.colour.colours) == 1 {
			return content{solid, e.colour.colours[0]}
		}
		return content{kind: drawn}
	}
	if repeats(src) {
		return content{kind: drawn}
	}
	return content{kind: photo}
}

// drawnColours is how many colours a tile may have and still never count as a
// photo. It is TigerVNC's rule: JPEG begins earlier for a fast viewer.
func (e *Encoder) drawnColours() int {
	switch {
	case e.set.JPEG.Quality == 0:
		return 128
	case e.set.Level < 2:
		return 24
	}
	return 96
}

// repeats reports whether pixels are mostly equal to their left neighbours, as
// they are in what programs draw, text included, however many colours it has. A
// quarter of the rows will tell.
func repeats(src Block) bool {
	equal, seen := 0, 0
	for y := 0; y < src.Dy(); y += 4 {
		row := src.row(y)
		seen += len(row)
		for x := 1; x < len(row); x++ {
			if row[x] == row[x-1] {
				equal++
			}
		}
	}
	return equal*2 > seen
}

// contentPart is a rectangle of one content.
type contentPart struct {
	image.Rectangle
	content
}

// contentParts finds rectangles of one content.
type contentParts struct {
	found []contentPart
	above []int // indices into found of the parts that the next row of tiles may lengthen
}

// find cuts src into parts: runs of equal tiles, joined with equal runs below.
func (c *contentParts) find(src Block, classify func(Block) content) {
	c.found, c.above = c.found[:0], c.above[:0]
	for y := src.Min.Y; y < src.Max.Y; y += contentTile {
		row := len(c.found)
		for x := src.Min.X; x < src.Max.X; x += contentTile {
			r := image.Rect(x, y, x+contentTile, y+contentTile).Intersect(src.Rectangle)
			got := classify(src.Sub(r))
			if n := len(c.found) - 1; n >= row && c.found[n].content == got {
				c.found[n].Max.X = r.Max.X
			} else {
				c.found = append(c.found, contentPart{r, got})
			}
		}
		c.join(row)
	}
}

// join lengthens parts above by the parts from row on that are equal.
func (c *contentParts) join(row int) {
	fresh := append([]contentPart(nil), c.found[row:]...)
	c.found = c.found[:row]
	var below []int
	i := 0
	for _, f := range fresh {
		for i < len(c.above) && c.found[c.above[i]].Min.X < f.Min.X {
			i++
		}
		if i < len(c.above) {
			if a := &c.found[c.above[i]]; a.Min.X == f.Min.X && a.Max.X == f.Max.X && a.content == f.content {
				a.Max.Y = f.Max.Y
				below = append(below, c.above[i])
				continue
			}
		}
		c.found = append(c.found, f)
		below = append(below, len(c.found)-1)
	}
	c.above = below
}
