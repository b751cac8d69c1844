//go:build linux

package xvfbtest

// More requests of the core protocol, and of XFIXES 5.
const (
	opChangeWindowAttributes = 2
	opOpenFont               = 45
	opCreateGlyphCursor      = 94
	opQueryExtension         = 98

	xfixesQueryVersion  = 0
	xfixesSetCursorName = 23
)

// SetCursor gives the root window a cursor that goes by a name, as programs with
// cursor themes do.
func (p *Painter) SetCursor(name string) {
	p.t.Helper()
	font, cursor := p.lastID+1, p.lastID+2
	p.lastID = cursor
	p.request(opOpenFont, 0, append(append(u32s(font), u16s(6, 0)...), padded("cursor")...))
	const watch = 150 // a glyph of the cursor font; its mask is the next one
	p.request(opCreateGlyphCursor, 0, append(u32s(cursor, font, font), u16s(watch, watch+1, 0, 0, 0, 0xffff, 0xffff, 0xffff)...))

	p.request(opQueryExtension, 0, append(u16s(6, 0), padded("XFIXES")...))
	head, _ := p.wholeReply()
	xfixes := head[9]
	p.request(xfixes, xfixesQueryVersion, u32s(5, 0))
	p.reply()
	p.request(xfixes, xfixesSetCursorName, append(append(u32s(cursor), u16s(uint16(len(name)), 0)...), padded(name)...))

	const cursorAttribute = 1 << 14
	p.request(opChangeWindowAttributes, 0, u32s(p.root, cursorAttribute, cursor))
	p.Sync()
}

// padded returns s with zero bytes up to a multiple of four.
func padded(s string) []byte {
	return append([]byte(s), make([]byte, (4-len(s)%4)%4)...)
}
