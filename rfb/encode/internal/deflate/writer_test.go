package deflate

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"testing"
)

// inflate decodes chunks, which have no end, to n bytes.
func inflate(t testing.TB, chunks []byte, n int) []byte {
	t.Helper()
	in := bytes.NewReader(chunks)
	got := make([]byte, n)
	if _, err := io.ReadFull(flate.NewReader(in), got); err != nil {
		t.Fatalf("inflate: %v", err)
	}
	if in.Len() > 14 { // the end of a block and two empty ones
		t.Fatalf("%d bytes are left", in.Len())
	}
	return got
}

// add appends data as one chunk.
func (w *Writer) chunk(dst, data []byte, unit int, e Effort) []byte {
	w.Begin(dst)
	w.Add(data, unit, e)
	return w.End()
}

var efforts = []Effort{{}, {1, 0}, {2, 0}, {4, 8}, {64, 64}}

// sample makes data of some kind: runs, few symbols, pixels that come back, noise.
func sample(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	kind := rng.IntN(4)
	for i := range p {
		switch kind {
		case 0:
			p[i] = byte(i >> (i % 11))
		case 1:
			p[i] = byte(rng.IntN(3))
		case 2:
			p[i] = byte(rng.Uint32())
			if back := 3 * (1 + rng.IntN(200)); i%3 == 0 && i >= back {
				copy(p[i:], p[i-back:i-back+3])
			}
		default:
			p[i] = byte(rng.Uint32())
		}
	}
	return p
}

func TestChunks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var w Writer
	var stream, want []byte
	for range 400 {
		data := sample(rng, []int{0, 1, 2, 3, 11, 12, 100, 5000, 70000, 200000}[rng.IntN(10)])
		if rng.IntN(10) == 0 {
			w.Forget()
		}
		w.Begin(stream)
		k := rng.IntN(len(data) + 1)
		w.Add(data[:k], 1+rng.IntN(4), efforts[rng.IntN(len(efforts))])
		w.Add(data[k:], 1+rng.IntN(4), efforts[rng.IntN(len(efforts))])
		stream = w.End()
		want = append(want, data...)
	}
	if !bytes.Equal(inflate(t, stream, len(want)), want) {
		t.Fatal("the data differ")
	}
}

// TestBlockEnds ends blocks and data at every distance from each other.
func TestBlockEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	data := sample(rng, blockSize+64)
	for _, e := range efforts {
		for n := blockSize - 20; n < blockSize+40; n++ {
			var w Writer
			w.Begin(nil)
			w.Add(data[:n], 3, e)
			w.Add(data[n:], 3, e)
			if !bytes.Equal(inflate(t, w.End(), len(data)), data) {
				t.Fatalf("the data differ after %d bytes", n)
			}
		}
	}
}

// TestForget checks that a chunk after Forget can be read by who has seen nothing
// or something else before.
func TestForget(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := sample(rng, 5000)
	var w Writer
	before := w.chunk(nil, data, 1, efforts[3])
	if w.Forget(); len(w.chunk(nil, data, 1, efforts[3])) != len(before) {
		t.Error("the chunk after Forget differs")
	}
	w.Forget()
	if chunk := w.chunk(nil, data, 1, efforts[3]); !bytes.Equal(inflate(t, chunk, len(data)), data) {
		t.Error("the data differ")
	}
	if again := w.chunk(nil, data, 1, efforts[3]); len(again) > 100 {
		t.Errorf("a repetition takes %d bytes", len(again))
	}
}

// TestPositionsWrap goes past the point where positions start again.
func TestPositionsWrap(t *testing.T) {
	var w Writer
	w.shift = 1<<31 - 3000
	rng := rand.New(rand.NewPCG(3, 4))
	var stream, want []byte
	for range 40 {
		data := sample(rng, 40000)
		stream = w.chunk(stream, data, 3, efforts[2])
		want = append(want, data...)
	}
	if !bytes.Equal(inflate(t, stream, len(want)), want) {
		t.Fatal("the data differ")
	}
}

// TestHuffmanLimit uses frequencies whose best code would be far too long.
func TestHuffmanLimit(t *testing.T) {
	for _, limit := range []int{7, 15} {
		freq := make([]uint32, 40)
		a, b := uint32(1), uint32(1)
		n := min(len(freq), 1<<limit)
		if limit == 7 {
			n = 19
		}
		for i := range n {
			freq[i] = a
			a, b = b, a+b
		}
		var h huffman
		h.build(freq, limit)
		sum := 0
		for s, l := range h.lens {
			if (freq[s] > 0) != (l > 0) || int(l) > limit {
				t.Fatalf("symbol %d of frequency %d has length %d", s, freq[s], l)
			}
			if l > 0 {
				sum += 1 << (limit - int(l))
			}
		}
		if sum != 1<<limit {
			t.Errorf("limit %d: the code is not complete: %d", limit, sum)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var w Writer
	data := sample(rng, 50000)
	dst := w.chunk(nil, data, 3, efforts[2])
	if n := testing.AllocsPerRun(50, func() { dst = w.chunk(dst[:0], data, 3, efforts[2]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The data are repeated, so that short inputs make long chunks.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("a rose is a rose is a rose"), uint8(0), uint8(1), uint8(2), uint8(9))
	f.Add([]byte{1, 2, 3}, uint8(200), uint8(3), uint8(1), uint8(0))
	f.Add(make([]byte, 700), uint8(99), uint8(4), uint8(6), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, again, unit, level, cut uint8) {
		data = bytes.Repeat(data, 1+int(again))
		if len(data) > 1<<18 {
			return
		}
		var w Writer
		k := int(cut) * len(data) / 256
		stream := w.chunk(nil, data[:k], 1+int(unit%4), efforts[int(level)%len(efforts)])
		stream = w.chunk(stream, data[k:], 1+int(unit/4%4), efforts[int(level)/8%len(efforts)])
		if !bytes.Equal(inflate(t, stream, len(data)), data) {
			t.Fatal("the data differ")
		}
	})
}
