//go:build !amd64

package jpeg

func convert(y, cb, cr []int16, src []uint32)               { convertGo(y, cb, cr, src) }
func halve(dst, above, below []int16)                       { halveGo(dst, above, below) }
func transform(blocks []block, plane []int16, q *quantiser) { transformGo(blocks, plane, q) }
