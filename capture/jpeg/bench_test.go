package jpeg

import (
	"bytes"
	"fmt"
	stdjpeg "image/jpeg"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/internal/testscreen"
)

// BenchmarkAppend measures the settings that VNC viewers ask for. ns_px is per pixel,
// x_std how many times faster than image/jpeg, which always uses 4:2:0, on the same
// pixels at the same quality.
func BenchmarkAppend(b *testing.B) {
	const width, height = 1280, 800
	settings := []Options{{42, Chroma420}, {62, Chroma422}, {77, Chroma444}, {86, Chroma444}}
	for _, s := range testscreen.All {
		pix := s.Draw(1, width, height)
		img := toImage(pix, width)
		for _, opt := range settings {
			b.Run(fmt.Sprintf("%s/q%d-%s", s.Name, opt.Quality, []string{"444", "422", "420"}[opt.Chroma]), func(b *testing.B) {
				const rounds = 3
				var std bytes.Buffer
				start := time.Now()
				for range rounds {
					std.Reset()
					if err := stdjpeg.Encode(&std, img, &stdjpeg.Options{Quality: opt.Quality}); err != nil {
						b.Fatal(err)
					}
				}
				reference := time.Since(start) / rounds

				var data []byte
				b.ReportAllocs()
				for b.Loop() {
					data = Append(data[:0], pix, width, width, height, opt)
				}
				each := float64(b.Elapsed()) / float64(b.N)
				b.ReportMetric(each/(width*height), "ns_px")
				b.ReportMetric(float64(reference)/each, "x_std")
				b.ReportMetric(float64(len(data)), "bytes")
			})
		}
	}
}
