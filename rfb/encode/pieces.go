package encode

import "image"

// A piece is a part of a row of pixels, pieceWidth long: four letters or so. The pairs
// of letters that shorter ones show stand in a page of text in many places.
const (
	pieceWidth = 32
	pieceBits  = 13
	maxPieces  = 1 << (pieceBits - 2)
	// Of more pieces than this only a part is looked for.
	enoughPieces = 512
	// A piece with fewer changes of colour may be anywhere.
	minChanges = 3
)

// pieces are pieces of a picture, found by their hash.
type pieces struct {
	every  int                    // only one of so many rows is searched
	hashes [1 << pieceBits]uint32 // 0 where there is none
	traces [1 << pieceBits]trace
}

// trace is where a piece is and where it was.
type trace struct {
	is, was image.Point
	found   int // times that it was found where it may have been
}

// ambiguous is more often than any piece counts as found.
const ambiguous = 1 << 30

// collect takes one piece of each of the n marked cells, or of fewer when there
// are too many. They come from all eight rows of the cells, so that a part of them
// is found when a part of the rows is searched.
func (p *pieces) collect(pic picture, cells *grid, n int) {
	clear(p.hashes[:])
	p.every = min(max(n/enoughPieces, 1), cellSize)
	skip := (n + maxPieces - 1) / maxPieces
	for cy := cells.area.Min.Y; cy < cells.area.Max.Y; cy++ {
		for i, marked := range cells.row(cy) {
			cx := cells.area.Min.X + i
			x, y := cx*cellSize, cy*cellSize+cx*3%cellSize
			if !marked || (cx+cy)%skip != 0 || x+pieceWidth > pic.width || y >= pic.height {
				continue
			}
			row := pic.row(y, x, x+pieceWidth)
			if changes(row) < minChanges {
				continue
			}
			hash := rowHash(row)
			slot := pieceSlot(hash)
			switch p.hashes[slot] {
			case 0:
				p.hashes[slot], p.traces[slot] = hash|1, trace{is: image.Pt(x, y)}
			case hash | 1:
				p.traces[slot].found = ambiguous
			}
		}
	}
}

// locate looks the pieces up everywhere in the marked cells of another picture.
// Those that are found in one place vote for the way that they have come.
func (p *pieces) locate(was picture, cells *grid, v *votes) {
	for cy := cells.area.Min.Y; cy < cells.area.Max.Y; cy++ {
		cells.runs(cy, maxGap, func(c0, c1 int) {
			x0, x1 := c0*cellSize, min(c1*cellSize, was.width)
			if x1-x0 < pieceWidth {
				return
			}
			for y := cy * cellSize; y < min((cy+1)*cellSize, was.height); y += p.every {
				p.locateRow(was.row(y, x0, x1), x0, y)
			}
		})
	}
	for slot, hash := range p.hashes {
		if t := &p.traces[slot]; hash != 0 && t.found == 1 {
			v.add(t.is.Sub(t.was))
		}
	}
}

func (p *pieces) locateRow(row []uint32, x0, y int) {
	hash := rowHash(row[:pieceWidth])
	for x := 0; ; x++ {
		if slot := pieceSlot(hash); p.hashes[slot] == hash|1 {
			p.traces[slot].was = image.Pt(x0+x, y)
			p.traces[slot].found++
		}
		if x+pieceWidth == len(row) {
			return
		}
		hash = (hash-row[x]*hashOut)*hashFactor + row[x+pieceWidth]
	}
}

// A hash is a polynomial in hashFactor with the pixels as coefficients, so that it
// can roll along a row. hashOut is the factor of the pixel that leaves.
const hashFactor = 0x9e3779b1

var hashOut = func() uint32 {
	f := uint32(1)
	for range pieceWidth - 1 {
		f *= hashFactor
	}
	return f
}()

func rowHash(row []uint32) uint32 {
	hash := uint32(0)
	for _, c := range row {
		hash = hash*hashFactor + c
	}
	return hash
}

func pieceSlot(hash uint32) uint32 { return hash * 0x85ebca6b >> (32 - pieceBits) }

// changes counts the places in a row where the colour changes.
func changes(row []uint32) int {
	n := 0
	for i := 1; i < len(row); i++ {
		if row[i] != row[i-1] {
			n++
		}
	}
	return n
}

// votes counts moves.
type votes struct {
	entries [1 << voteBits]vote
}

const voteBits = 9

type vote struct {
	move image.Point
	n    int
}

func (v *votes) clear() { clear(v.entries[:]) }

// add counts a vote, unless there are too many opinions already.
func (v *votes) add(move image.Point) {
	if move == (image.Point{}) {
		return // it stood still
	}
	slot := (uint32(move.X)*0x9e3779b1 + uint32(move.Y)*0x85ebca6b) >> (32 - voteBits)
	for range 8 {
		e := &v.entries[slot]
		if e.n == 0 || e.move == move {
			e.move = move
			e.n++
			return
		}
		slot = (slot + 1) % (1 << voteBits)
	}
}

// take returns the move with the most votes and removes it.
func (v *votes) take() (move image.Point, n int) {
	best := &v.entries[0]
	for i := range v.entries {
		if v.entries[i].n > best.n {
			best = &v.entries[i]
		}
	}
	move, n = best.move, best.n
	best.n = 0
	return move, n
}
