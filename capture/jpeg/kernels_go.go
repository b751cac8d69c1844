package jpeg

func convert(y, cb, cr []int16, src []uint32)               { convertGo(y, cb, cr, src) }
func subsample(dst, src []int16, rows int)                  { subsampleGo(dst, src, rows) }
func transform(blocks []block, plane []int16, q *quantiser) { transformGo(blocks, plane, q) }
