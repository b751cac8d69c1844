package png

import (
	"bytes"
	"fmt"
	"hash/adler32"
	"image"
	stdpng "image/png"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
)

// decode returns the pixels of a PNG file as image/png sees them.
func decode(t testing.TB, data []byte) (pix []uint32, width, height int) {
	t.Helper()
	r := bytes.NewReader(data)
	img, err := stdpng.Decode(r)
	if err != nil {
		t.Fatalf("image/png refuses the file: %v", err)
	}
	if r.Len() != 0 {
		t.Fatalf("%d bytes follow the file's end", r.Len())
	}
	b := img.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			pix = append(pix, r>>8<<16|g>>8<<8|b>>8)
		}
	}
	return pix, b.Dx(), b.Dy()
}

// check encodes the picture and compares what comes back.
func check(t testing.TB, pix []uint32, stride, width, height int) {
	t.Helper()
	prefix := []byte("kept")
	data := Append(prefix, pix, stride, width, height)
	if !bytes.HasPrefix(data, prefix) {
		t.Fatal("Append changed what was there before")
	}
	got, w, h := decode(t, data[len(prefix):])
	if w != width || h != height {
		t.Fatalf("size %dx%d, want %dx%d", w, h, width, height)
	}
	for i, p := range got {
		if want := pix[i/width*stride+i%width] & 0xffffff; p != want {
			t.Fatalf("pixel %d,%d of %dx%d is %06x, want %06x", i%width, i/width, width, height, p, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, s := range testscreen.All {
		for _, size := range []image.Point{{1, 1}, {1, 7}, {7, 1}, {2, 3}, {8, 8}, {63, 5}, {64, 64}, {65, 9}, {641, 479}} {
			t.Run(fmt.Sprintf("%s/%dx%d", s.Name, size.X, size.Y), func(t *testing.T) {
				check(t, s.Draw(1, size.X, size.Y), size.X, size.X, size.Y)
			})
		}
	}
}

// Palettes pack 8, 4, 2 or 1 pixels in a byte, so every width modulo 8 counts.
func TestPaletteDepths(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, colours := range []int{1, 2, 3, 4, 5, 16, 17, 255, 256, 257} {
		for width := 1; width <= 17; width++ {
			height := 300/width + 2
			pix := make([]uint32, width*height)
			for i := range pix {
				pix[i] = uint32(i%colours) * 0x010307 & 0xffffff
			}
			rng.Shuffle(len(pix), func(i, j int) { pix[i], pix[j] = pix[j], pix[i] })
			check(t, pix, width, width, height)
		}
	}
}

func TestStrideAndUnusedByte(t *testing.T) {
	for _, draw := range []func(uint64, int, int) []uint32{testscreen.Text, testscreen.Noise} {
		pix := draw(2, 80, 40)
		for i := range pix {
			pix[i] |= uint32(i) << 24
		}
		check(t, pix[5*80+3:], 80, 70, 30)
	}
}

// Strips must join however they are cut and on however many cores.
func TestManyStrips(t *testing.T) {
	pix := testscreen.Desktop(3, 1501, 1003)
	check(t, pix, 1501, 1501, 1003)
	want := Append(nil, pix, 1501, 1501, 1003)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := Append(nil, pix, 1501, 1501, 1003); !bytes.Equal(got, want) {
		t.Error("one core makes another file than several")
	}
}

func TestAdlerCombine(t *testing.T) {
	data := make([]byte, 200_000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	for _, cut := range []int{0, 1, 5552, 65521, 100_000, len(data)} {
		got := adlerCombine(adler32.Checksum(data[:cut]), adler32.Checksum(data[cut:]), len(data)-cut)
		if want := adler32.Checksum(data); got != want {
			t.Errorf("cut at %d: %08x, want %08x", cut, got, want)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{0, 0, 0}, uint8(1), uint8(255))
	f.Add([]byte("some bytes that become colours"), uint8(7), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, width, colours uint8) {
		if width == 0 || len(data) < int(width) || len(data) > 1<<16 {
			return
		}
		pix := make([]uint32, len(data))
		for i, b := range data {
			pix[i] = uint32(b%max(colours, 1)) * 0x01070b05
			if i > 0 && b&1 != 0 {
				pix[i] += pix[i-1]
			}
		}
		check(t, pix, int(width), int(width), len(pix)/int(width))
	})
}

// BenchmarkAppend compares with image/png at BestSpeed on the same pixels: x_std is
// how many times faster, size_std how large relative to it.
func BenchmarkAppend(b *testing.B) {
	const width, height = 1280, 800
	for _, s := range testscreen.All {
		b.Run(s.Name, func(b *testing.B) {
			pix := s.Draw(1, width, height)
			img := image.NewRGBA(image.Rect(0, 0, width, height))
			for i, p := range pix {
				copy(img.Pix[4*i:], []byte{byte(p >> 16), byte(p >> 8), byte(p), 0xff})
			}
			var std bytes.Buffer
			enc := stdpng.Encoder{CompressionLevel: stdpng.BestSpeed, BufferPool: new(pool)}
			encode := func() {
				std.Reset()
				if err := enc.Encode(&std, img); err != nil {
					b.Fatal(err)
				}
			}
			encode()
			const rounds = 5
			start := time.Now()
			for range rounds {
				encode()
			}
			reference := time.Since(start) / rounds

			var data []byte
			b.SetBytes(4 * width * height)
			b.ReportAllocs()
			for b.Loop() {
				data = Append(data[:0], pix, width, width, height)
			}
			b.ReportMetric(float64(len(data)), "bytes")
			b.ReportMetric(float64(reference)*float64(b.N)/float64(b.Elapsed()), "x_std")
			b.ReportMetric(float64(len(data))/float64(std.Len()), "size_std")
		})
	}
}

type pool struct{ kept *stdpng.EncoderBuffer }

func (p *pool) Get() *stdpng.EncoderBuffer  { return p.kept }
func (p *pool) Put(b *stdpng.EncoderBuffer) { p.kept = b }
