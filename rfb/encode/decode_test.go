package encode

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"io"
)

// viewer decodes updates, written from the specification and not from the
// encoders. Anything illegal or doubtful is an error.
type viewer struct {
	format        PixelFormat
	width, height int
	pix           []uint32 // pixel values of format, as numbers
	lossy         bool     // JPEG is allowed
	in            []byte
	inflate       [6]inflater // 0 to 3 of Tight, ZRLE, Zlib
	seen          map[string]int
}

func newViewer(f PixelFormat, width, height int) *viewer {
	return &viewer{format: f, width: width, height: height, pix: make([]uint32, width*height), seen: map[string]int{}}
}

// inflater is a zlib stream that comes in chunks.
type inflater struct {
	chunks bytes.Buffer
	out    io.Reader
}

func (z *inflater) feed(p []byte) {
	if z.out == nil {
		if len(p) < 2 || p[0]&15 != 8 || (int(p[0])<<8|int(p[1]))%31 != 0 || p[1]&0x20 != 0 {
			panic("bad zlib header")
		}
		p = p[2:]
		z.out = flate.NewReader(&z.chunks)
	}
	z.chunks.Write(p)
}

func (z *inflater) bytes(n int) []byte {
	p := make([]byte, n)
	if _, err := io.ReadFull(z.out, p); err != nil {
		panic(fmt.Sprintf("inflate: %v", err))
	}
	return p
}

// rest panics unless all data of the chunks were taken: only the end of a block and an
// empty block may be left.
func (z *inflater) rest() {
	if z.chunks.Len() > 8 {
		panic(fmt.Sprintf("%d bytes of compressed data left", z.chunks.Len()))
	}
}

// update decodes n rectangles, which must be all of p.
func (v *viewer) update(p []byte, n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v, %d bytes left", r, len(v.in))
		}
	}()
	v.in = p
	for range n {
		v.rect()
	}
	if len(v.in) > 0 {
		return fmt.Errorf("%d bytes after the last rectangle", len(v.in))
	}
	return nil
}

func (v *viewer) bytes(n int) []byte {
	p := v.in[:n]
	v.in = v.in[n:]
	return p
}

func (v *viewer) u8() int  { return int(v.bytes(1)[0]) }
func (v *viewer) u16() int { return int(binary.BigEndian.Uint16(v.bytes(2))) }
func (v *viewer) u32() int { return int(binary.BigEndian.Uint32(v.bytes(4))) }

func (v *viewer) rect() {
	x, y, w, h := v.u16(), v.u16(), v.u16(), v.u16()
	r := image.Rect(x, y, x+w, y+h)
	if r.Empty() || !r.In(image.Rect(0, 0, v.width, v.height)) {
		panic(fmt.Sprintf("rectangle %v", r))
	}
	switch e := int32(v.u32()); e {
	case 0:
		v.seen["raw"]++
		v.fill(r, v.pixelsOf(v.bytes(w*h*v.size()), v.size(), v.pixel))
	case 1:
		v.seen["copy"]++
		v.copy(r, v.u16(), v.u16())
	case 5:
		v.seen["hextile"]++
		v.hextile(r)
	case 6:
		v.seen["zlib"]++
		z := &v.inflate[5]
		z.feed(v.bytes(v.u32()))
		v.fill(r, v.pixelsOf(z.bytes(w*h*v.size()), v.size(), v.pixel))
		z.rest()
	case 7:
		v.tight(r)
	case 16:
		v.seen["zrle"]++
		v.zrle(r)
	default:
		panic(fmt.Sprintf("encoding %d", e))
	}
}

func (v *viewer) size() int { return int(v.format.BitsPerPixel) / 8 }

func (v *viewer) pixel(p []byte) uint32 {
	n := uint32(0)
	for i := range p {
		if v.format.BigEndian {
			n = n<<8 | uint32(p[i])
		} else {
			n |= uint32(p[i]) << (8 * i)
		}
	}
	return n
}

// cpixel knows ZRLE's pixels of three bytes.
func (v *viewer) cpixel() (size int, get func([]byte) uint32) {
	f := v.format
	all := uint32(f.RedMax)<<f.RedShift | uint32(f.GreenMax)<<f.GreenShift | uint32(f.BlueMax)<<f.BlueShift
	if f.BitsPerPixel != 32 || !f.TrueColour || f.Depth > 24 || all>>24 != 0 && all&255 != 0 {
		return v.size(), v.pixel
	}
	if all>>24 == 0 {
		return 3, v.pixel
	}
	return 3, func(p []byte) uint32 { return v.pixel(p) << 8 }
}

// tpixel knows Tight's pixels of three bytes.
func (v *viewer) tpixel() (size int, get func([]byte) uint32) {
	f := v.format
	if f.BitsPerPixel == 32 && f.Depth == 24 && f.TrueColour && f.RedMax == 255 && f.GreenMax == 255 && f.BlueMax == 255 {
		return 3, func(p []byte) uint32 {
			return uint32(p[0])<<f.RedShift | uint32(p[1])<<f.GreenShift | uint32(p[2])<<f.BlueShift
		}
	}
	return v.size(), v.pixel
}

func (v *viewer) pixelsOf(p []byte, size int, get func([]byte) uint32) []uint32 {
	out := make([]uint32, 0, len(p)/size)
	for ; len(p) > 0; p = p[size:] {
		out = append(out, get(p[:size]))
	}
	return out
}

func (v *viewer) fill(r image.Rectangle, p []uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(v.pix[y*v.width+r.Min.X:][:r.Dx()], p)
		p = p[r.Dx():]
	}
}

func (v *viewer) solid(r image.Rectangle, c uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			v.pix[y*v.width+x] = c
		}
	}
}

func (v *viewer) copy(r image.Rectangle, sx, sy int) {
	if !image.Rect(sx, sy, sx+r.Dx(), sy+r.Dy()).In(image.Rect(0, 0, v.width, v.height)) {
		panic("copy from outside")
	}
	old := append([]uint32(nil), v.pix...)
	for y := range r.Dy() {
		copy(v.pix[(r.Min.Y+y)*v.width+r.Min.X:][:r.Dx()], old[(sy+y)*v.width+sx:])
	}
}

func tiles(r image.Rectangle, side int, f func(image.Rectangle)) {
	for y := r.Min.Y; y < r.Max.Y; y += side {
		for x := r.Min.X; x < r.Max.X; x += side {
			f(image.Rect(x, y, x+side, y+side).Intersect(r))
		}
	}
}

func (v *viewer) hextile(r image.Rectangle) {
	one := func() uint32 { return v.pixel(v.bytes(v.size())) }
	bg, fg := int64(-1), int64(-1)
	tiles(r, 16, func(t image.Rectangle) {
		flags := v.u8()
		if flags&1 != 0 {
			v.fill(t, v.pixelsOf(v.bytes(t.Dx()*t.Dy()*v.size()), v.size(), v.pixel))
			bg, fg = -1, -1
			return
		}
		if flags&2 != 0 {
			bg = int64(one())
		}
		if flags&4 != 0 {
			fg = int64(one())
		}
		if bg < 0 || flags>>5 != 0 || flags&20 == 20 {
			panic(fmt.Sprintf("hextile flags %#x, background %d", flags, bg))
		}
		v.solid(t, uint32(bg))
		if flags&8 == 0 {
			return
		}
		for range v.u8() {
			c := fg
			if flags&16 != 0 {
				c = int64(one())
			}
			xy, wh := v.u8(), v.u8()
			s := image.Rect(0, 0, wh>>4+1, wh&15+1).Add(image.Pt(xy>>4, xy&15)).Add(t.Min)
			if c < 0 || !s.In(t) {
				panic("hextile subrectangle")
			}
			v.solid(s, uint32(c))
		}
		if flags&16 != 0 {
			fg = -1
		}
	})
}

func (v *viewer) zrle(r image.Rectangle) {
	z := &v.inflate[4]
	z.feed(v.bytes(v.u32()))
	size, get := v.cpixel()
	tiles(r, 64, func(t image.Rectangle) {
		w, area := t.Dx(), t.Dx()*t.Dy()
		sub := int(z.bytes(1)[0])
		var pal []uint32
		if n := sub & 127; n > 0 {
			pal = v.pixelsOf(z.bytes(n*size), size, get)
		}
		v.seen[fmt.Sprintf("zrle %s", map[bool]string{true: "runs", false: "tile"}[sub > 127])]++
		var out []uint32
		switch {
		case sub == 0:
			out = v.pixelsOf(z.bytes(area*size), size, get)
		case sub == 1:
			v.solid(t, pal[0])
			return
		case sub <= 16:
			bits := map[bool]int{true: 1}[sub == 2]
			if sub > 4 {
				bits = 4
			} else if sub > 2 {
				bits = 2
			}
			for range t.Dy() {
				row := z.bytes((w*bits + 7) / 8)
				for x := range w {
					out = append(out, pal[int(row[x*bits/8])>>(8-bits-x*bits%8)&(1<<bits-1)])
				}
			}
		case sub >= 128 && sub != 129:
			for len(out) < area {
				var c uint32
				long := true
				if pal == nil {
					c = get(z.bytes(size))
				} else {
					i := z.bytes(1)[0]
					c, long = pal[i&127], i > 127
				}
				run := 1
				for long {
					b := int(z.bytes(1)[0])
					run += b
					long = b == 255
				}
				for range run {
					out = append(out, c)
				}
			}
			if len(out) != area {
				panic("run beyond the tile")
			}
		default:
			panic(fmt.Sprintf("zrle tile %d", sub))
		}
		v.fill(t, out)
	})
	z.rest()
}

func (v *viewer) compact() int {
	n := 0
	for shift := 0; shift < 21; shift += 7 {
		b := v.u8()
		if shift == 14 {
			return n | b<<14
		}
		n |= b & 127 << shift
		if b < 128 {
			if b == 0 && shift > 0 {
				panic("compact length too long")
			}
			return n
		}
	}
	return n
}

func (v *viewer) tight(r image.Rectangle) {
	w, h := r.Dx(), r.Dy()
	if w > 2048 {
		panic("Tight rectangle too wide")
	}
	size, get := v.tpixel()
	control := v.u8()
	if control&15 != 0 {
		panic("stream reset")
	}
	switch control {
	case 0x80:
		v.seen["fill"]++
		v.solid(r, get(v.bytes(size)))
		return
	case 0x90:
		v.seen["jpeg"]++
		v.jpeg(r, v.bytes(v.compact()))
		return
	}
	if control > 0x7f {
		panic(fmt.Sprintf("control %#x", control))
	}
	filter := 0
	if control&0x40 != 0 {
		filter = v.u8()
	}
	data := func(n int) []byte {
		if n < 12 {
			v.seen["short"]++
			return v.bytes(n)
		}
		z := &v.inflate[control>>4&3]
		z.feed(v.bytes(v.compact()))
		defer z.rest()
		return z.bytes(n)
	}
	switch filter {
	case 0:
		v.seen["full"]++
		v.fill(r, v.pixelsOf(data(w*h*size), size, get))
	case 1:
		n := v.u8() + 1
		if n == 1 {
			panic("palette of one colour")
		}
		v.seen["palette"]++
		pal := v.pixelsOf(v.bytes(n*size), size, get)
		var out []uint32
		if n == 2 {
			v.seen["mono"]++
			p := data((w + 7) / 8 * h)
			for y := range h {
				for x := range w {
					out = append(out, pal[p[y*((w+7)/8)+x/8]>>(7-x%8)&1])
				}
			}
		} else {
			for _, i := range data(w * h) {
				out = append(out, pal[i])
			}
		}
		v.fill(r, out)
	case 2:
		v.seen["gradient"]++
		if size != 3 {
			panic("gradient of other pixels")
		}
		v.gradient(r, data(w*h*3))
	default:
		panic(fmt.Sprintf("filter %d", filter))
	}
}

func (v *viewer) gradient(r image.Rectangle, p []byte) {
	w := r.Dx()
	at := func(x, y, c int) int {
		if x < 0 || y < 0 {
			return 0
		}
		return int(p[(y*w+x)*3+c])
	}
	for y := range r.Dy() {
		for x := range w {
			for c := range 3 {
				p[(y*w+x)*3+c] += byte(min(max(at(x-1, y, c)+at(x, y-1, c)-at(x-1, y-1, c), 0), 255))
			}
		}
	}
	_, get := v.tpixel()
	v.fill(r, v.pixelsOf(p, 3, get))
}

func (v *viewer) jpeg(r image.Rectangle, p []byte) {
	m, err := jpeg.Decode(bytes.NewReader(p))
	if err != nil || m.Bounds().Size() != r.Size() || !v.lossy {
		panic(fmt.Sprintf("jpeg: %v, allowed %v", err, v.lossy))
	}
	for y := range r.Dy() {
		for x := range r.Dx() {
			cr, cg, cb, _ := m.At(x, y).RGBA()
			v.pix[(r.Min.Y+y)*v.width+r.Min.X+x] = v.want(cr>>8<<16 | cg>>8<<8 | cb>>8)
		}
	}
}

// want returns the pixel value that stands for a frame's pixel.
func (v *viewer) want(p uint32) uint32 {
	f := v.format
	near := func(c, most uint32) uint32 { return uint32(float64(c)*float64(most)/255 + 0.5) }
	r, g, b := p>>16&255, p>>8&255, p&255
	if !f.TrueColour {
		return near(r, 5)*36 + near(g, 5)*6 + near(b, 5)
	}
	return near(r, uint32(f.RedMax))<<f.RedShift | near(g, uint32(f.GreenMax))<<f.GreenShift | near(b, uint32(f.BlueMax))<<f.BlueShift
}

// differs says where the viewer's picture is not that of pix.
func (v *viewer) differs(pix []uint32) error {
	for i, p := range pix {
		if got, want := v.pix[i], v.want(p); got != want {
			return fmt.Errorf("pixel %d,%d is %#x, want %#x (%#x)", i%v.width, i/v.width, got, want, p)
		}
	}
	return nil
}
