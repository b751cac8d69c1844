package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
)

var chromas = []Chroma{Chroma444, Chroma422, Chroma420, Gray}

// decode returns the picture as image/jpeg sees it, and fails the test unless
// data is one file from SOI to EOI.
func decode(t testing.TB, data []byte) image.Image {
	t.Helper()
	checkSegments(t, data)
	img, err := stdjpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("image/jpeg refuses the file: %v", err)
	}
	return img
}

// checkSegments checks that the file is SOI, segments up to SOS, data without any
// marker, and EOI.
func checkSegments(t testing.TB, data []byte) {
	t.Helper()
	body, ok := bytes.CutSuffix(data, []byte{0xff, markerEOI})
	if !ok || !bytes.HasPrefix(data, []byte{0xff, markerSOI}) {
		t.Fatal("the file does not go from SOI to EOI")
	}
	body = body[2:]
	for marker := byte(0); marker != markerSOS; {
		if len(body) < 4 || body[0] != 0xff {
			t.Fatal("no segment where one should begin")
		}
		marker = body[1]
		body = body[2+binary.BigEndian.Uint16(body[2:]):]
	}
	for i, b := range body {
		if b == 0xff && (i+1 == len(body) || body[i+1] != 0) {
			t.Fatalf("a marker stands inside the data, %d bytes before EOI", len(body)-i)
		}
	}
}

func encode(pix []uint32, width, height int, opt Options) []byte {
	return Append(nil, pix, width, width, height, opt)
}

// psnr compares the luminance of the picture with that of the file: chrominance
// is subsampled on purpose.
func psnr(pix []uint32, width int, img image.Image) float64 {
	var sum float64
	for i, p := range pix {
		want := color.GrayModel.Convert(color.RGBA{uint8(p >> 16), uint8(p >> 8), uint8(p), 255}).(color.Gray).Y
		got := color.GrayModel.Convert(img.At(i%width, i/width)).(color.Gray).Y
		d := float64(want) - float64(got)
		sum += d * d
	}
	return 10 * math.Log10(255*255/max(sum/float64(len(pix)), 1e-9))
}

// colourPSNR compares all three colours.
func colourPSNR(pix []uint32, width int, img image.Image) float64 {
	var sum float64
	for i, p := range pix {
		r, g, b, _ := img.At(i%width, i/width).RGBA()
		for k, got := range []uint32{r, g, b} {
			d := float64(p>>(16-8*k)&0xff) - float64(got>>8)
			sum += d * d
		}
	}
	return 10 * math.Log10(255*255/max(sum/float64(3*len(pix)), 1e-9))
}

func TestSizesAndChroma(t *testing.T) {
	for _, chroma := range chromas {
		for _, size := range []image.Point{{1, 1}, {1, 17}, {17, 1}, {7, 7}, {8, 8}, {9, 9}, {15, 16}, {16, 15}, {31, 33}, {32, 32}, {33, 31}, {63, 64}, {65, 63}} {
			t.Run(fmt.Sprintf("%d/%dx%d", chroma, size.X, size.Y), func(t *testing.T) {
				pix := testscreen.Gradient(1, size.X, size.Y)
				img := decode(t, encode(pix, size.X, size.Y, Options{Quality: 95, Chroma: chroma}))
				if img.Bounds().Size() != size {
					t.Fatalf("size %v", img.Bounds())
				}
				if got := psnr(pix, size.X, img); got < 33 {
					t.Errorf("PSNR %.1f dB", got)
				}
			})
		}
	}
}

// Each quality must be about as good as image/jpeg's, which uses the same tables.
func TestLikeness(t *testing.T) {
	const width, height = 320, 200
	for _, s := range testscreen.All {
		pix := s.Draw(1, width, height)
		for _, quality := range []int{1, 15, 42, 62, 77, 86, 92, 100} {
			var std bytes.Buffer
			if err := stdjpeg.Encode(&std, toImage(pix, width), &stdjpeg.Options{Quality: quality}); err != nil {
				t.Fatal(err)
			}
			want := psnr(pix, width, decode(t, std.Bytes()))
			data := encode(pix, width, height, Options{Quality: quality, Chroma: Chroma420})
			// Above 50 dB, differences of one in some pixels, likeness is not the point.
			if got := psnr(pix, width, decode(t, data)); got < min(want, 50)-0.3 {
				t.Errorf("%s at quality %d: PSNR %.2f dB, image/jpeg has %.2f", s.Name, quality, got, want)
			}
			if limit := std.Len()*102/100 + 32; len(data) > limit {
				t.Errorf("%s at quality %d: %d bytes, image/jpeg has %d", s.Name, quality, len(data), std.Len())
			}
		}
	}
}

// At the highest quality nothing but rounding may be lost.
func TestBestQualityIsNearlyExact(t *testing.T) {
	for _, s := range testscreen.All {
		pix := s.Draw(5, 200, 120)
		img := decode(t, encode(pix, 200, 120, Options{Quality: 100, Chroma: Chroma444}))
		if got := colourPSNR(pix, 200, img); got < 44 {
			t.Errorf("%s: PSNR %.1f dB", s.Name, got)
		}
	}
}

// Full chroma keeps red text on blue apart, which subsampling smears.
func TestFullChromaKeepsColouredText(t *testing.T) {
	const width, height = 128, 64
	pix := make([]uint32, width*height)
	for i := range pix {
		pix[i] = 0x0000ff
		if i%3 == 0 {
			pix[i] = 0xff0000
		}
	}
	full := colourPSNR(pix, width, decode(t, encode(pix, width, height, Options{Quality: 92, Chroma: Chroma444})))
	half := colourPSNR(pix, width, decode(t, encode(pix, width, height, Options{Quality: 92, Chroma: Chroma420})))
	if full < half+15 {
		t.Errorf("4:4:4 has %.1f dB, 4:2:0 %.1f", full, half)
	}
}

func TestStrideUnusedByteAndPrefix(t *testing.T) {
	const stride, width, height = 90, 51, 37
	pix := testscreen.Desktop(4, stride, 60)
	tight := make([]uint32, 0, width*height)
	for y := range height {
		tight = append(tight, pix[7+y*stride:][:width]...)
	}
	for i := range pix {
		pix[i] |= 0xa5 << 24
	}
	for _, chroma := range chromas {
		opt := Options{Quality: 80, Chroma: chroma}
		want := append([]byte("kept"), encode(tight, width, height, opt)...)
		if got := Append([]byte("kept"), pix[7:], stride, width, height, opt); !bytes.Equal(got, want) {
			t.Errorf("chroma %d: stride or unused byte changed the file", chroma)
		}
	}
}

// An encoder that has seen a width needs no more memory. (Append itself takes one
// from a pool, which a garbage collection empties.)
func TestEncodeDoesNotAllocate(t *testing.T) {
	pix := testscreen.Photo(1, 256, 128)
	var e encoder
	var data []byte
	for _, chroma := range chromas {
		run := func() { data = e.encode(data[:0], pix, 256, 256, 128, Options{Quality: 90, Chroma: chroma}) }
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("chroma %d: %v allocations", chroma, n)
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("colours"), uint8(3), uint8(50), uint8(0))
	f.Add([]byte{255, 0, 255, 0, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(1), uint8(100), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, width, quality, chroma uint8) {
		if width == 0 || len(data) < int(width) || len(data) > 1<<14 {
			return
		}
		pix := make([]uint32, len(data))
		for i, b := range data {
			pix[i] = uint32(b) * 0x01030507
		}
		height := len(pix) / int(width)
		opt := Options{Quality: int(quality), Chroma: chromas[chroma%4]}
		img := decode(t, Append(nil, pix, int(width), int(width), height, opt))
		if got := img.Bounds().Size(); got != image.Pt(int(width), height) {
			t.Fatalf("size %v, want %dx%d", got, width, height)
		}
		if opt.Quality >= 100 && opt.Chroma == Chroma444 {
			if got := colourPSNR(pix[:int(width)*height], int(width), img); got < 40 {
				t.Fatalf("PSNR %.1f dB at quality 100", got)
			}
		}
	})
}

func toImage(pix []uint32, width int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, len(pix)/width))
	for i, p := range pix {
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = byte(p>>16), byte(p>>8), byte(p), 255
	}
	return img
}
