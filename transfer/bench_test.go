package transfer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What one end costs, without the way between them.
func BenchmarkEnds(b *testing.B) {
	dir := b.TempDir()
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("%d/%d", i%10, i)] = random(i, 4096)
	}
	for _, from := range []string{
		tree(b, filepath.Join(dir, "small"), files),
		filepath.Join(tree(b, dir, map[string]string{"large": random(1, 64<<20)}), "large"),
	} {
		archive := pack(b, from)
		b.Run("pack/"+filepath.Base(from), func(b *testing.B) {
			b.SetBytes(int64(len(archive)))
			b.ReportAllocs()
			for b.Loop() {
				source, err := Open(Host, from)
				if err != nil {
					b.Fatal(err)
				}
				if err := source.Pack(context.Background(), io.Discard, ignore); err != nil {
					b.Fatal(err)
				}
				source.Close()
			}
		})
		b.Run("unpack/"+filepath.Base(from), func(b *testing.B) {
			b.SetBytes(int64(len(archive)))
			b.ReportAllocs()
			to := filepath.Join(dir, "copy")
			for b.Loop() {
				if _, err := unpack(bytes.NewReader(archive), to, Options{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := os.RemoveAll(to); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
