package jpeg

// Markers (T.81, table B.1).
const (
	markerSOF0 = 0xc0
	markerDHT  = 0xc4
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerDQT  = 0xdb
	markerAPP0 = 0xe0
)

// appendHeader appends everything before the entropy-coded data.
func (e *encoder) appendHeader(dst []byte, width, height int) []byte {
	g := &e.geometry
	dst = append(dst, 0xff, markerSOI)
	// JFIF 1.1 without a density. It says that colours are YCbCr.
	dst = append(dst, 0xff, markerAPP0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0)

	tables := min(g.components, 2) // luminance and chrominance, of each kind
	dst = append(dst, 0xff, markerDQT, 0, byte(2+65*tables))
	dst = append(dst, 0)
	dst = append(dst, e.quant.luma.steps[:]...)
	if tables == 2 {
		dst = append(dst, 1)
		dst = append(dst, e.quant.chroma.steps[:]...)
	}

	dst = append(dst, 0xff, markerSOF0, 0, byte(8+3*g.components), 8,
		byte(height>>8), byte(height), byte(width>>8), byte(width), byte(g.components))
	dst = append(dst, 1, byte(g.h<<4|g.v), 0)
	for i := 1; i < g.components; i++ {
		dst = append(dst, byte(i+1), 0x11, 1)
	}

	for i, spec := range huffmanSpecs[:2*tables] {
		length := 2 + 1 + 16 + len(spec.values)
		// Class (0 DC, 1 AC) and destination, in the order of huffmanSpecs.
		dst = append(dst, 0xff, markerDHT, byte(length>>8), byte(length), byte(i%2<<4|i/2))
		dst = append(dst, spec.counts[:]...)
		dst = append(dst, spec.values...)
	}

	dst = append(dst, 0xff, markerSOS, 0, byte(6+2*g.components), byte(g.components))
	dst = append(dst, 1, 0x00)
	for i := 1; i < g.components; i++ {
		dst = append(dst, byte(i+1), 0x11)
	}
	return append(dst, 0, 63, 0)
}
