package jpeg

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestConvertAVX2(t *testing.T) {
	xvfbtest.NeedThat(t, useAVX2, "a processor with AVX2")
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	corners := []uint32{0, 0xffffff, 0xff0000, 0x00ff00, 0x0000ff, 0xffff00, 0x00ffff, 0xff00ff}
	for n := groupPixels; n <= 8*groupPixels; n += groupPixels {
		src := make([]uint32, n)
		for i := range src {
			src[i] = rng.Uint32()
			if i < len(corners) {
				src[i] = corners[i] | 0xff000000
			}
		}
		var want, got [3][]int16
		for i := range want {
			want[i], got[i] = make([]int16, n), make([]int16, n)
		}
		convertGo(want[0], want[1], want[2], src)
		convert(got[0], got[1], got[2], src)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("plane %d of %d pixels:\n%v, want\n%v", i, n, got[i], want[i])
			}
		}
	}
}

func TestHalveAVX2(t *testing.T) {
	xvfbtest.NeedThat(t, useAVX2, "a processor with AVX2")
	const seed = 12
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for n := 16; n <= 128; n += 16 {
		above, below := randomSamples(rng, 2*n), randomSamples(rng, 2*n)
		want, got := make([]int16, n), make([]int16, n)
		halveGo(want, above, below)
		halve(got, above, below)
		if !slices.Equal(got, want) {
			t.Fatalf("%d results:\n%v, want\n%v", n, got, want)
		}
	}
}

func TestTransformAVX2(t *testing.T) {
	xvfbtest.NeedThat(t, useAVX2, "a processor with AVX2")
	const seed = 13
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for quality := 1; quality <= 100; quality++ {
		var q quantiser
		q.set(&lumaTable, quality)
		n := 2 * (1 + rng.IntN(4))
		plane := randomSamples(rng, 64*n)
		want, got := make([]block, n), make([]block, n)
		transformGo(want, plane, &q)
		transform(got, plane, &q)
		if !slices.Equal(got, want) {
			t.Fatalf("quality %d:\n%v, want\n%v", quality, got, want)
		}
	}
}

// randomSamples mixes full noise with the extremes that stress 16-bit arithmetic.
func randomSamples(rng *rand.Rand, n int) []int16 {
	samples := make([]int16, n)
	hard := rng.IntN(2) == 0
	for i := range samples {
		samples[i] = int16(rng.IntN(256) - 128)
		if hard {
			samples[i] = int16(rng.IntN(2)*255 - 128)
		}
	}
	return samples
}

func TestFilesAreEqualWithoutAVX2(t *testing.T) {
	xvfbtest.NeedThat(t, useAVX2, "a processor with AVX2")
	defer func() { useAVX2 = true }()
	for _, s := range testscreen.All {
		for _, chroma := range chromas {
			for width := 30; width < 70; width += 3 {
				pix := s.Draw(9, width, 41)
				opt := Options{Quality: 20 + width, Chroma: chroma}
				useAVX2 = true
				with := encode(pix, width, 41, opt)
				useAVX2 = false
				without := encode(pix, width, 41, opt)
				if !bytes.Equal(with, without) {
					t.Fatalf("%s, chroma %d, width %d: files differ", s.Name, chroma, width)
				}
			}
		}
	}
}
