package hostmcp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// What this server adds to one picture: the call read from a pipe, the daemon's
// answer over HTTP, the result written to the pipe.
func BenchmarkObserve(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			picture := make([]byte, size)
			for i := range picture {
				picture[i] = byte(rand.Uint32())
			}
			f := newFakeComputer(b)
			f.onObserve = func(context.Context, api.ObserveRequest) (api.Observation, []client.Image, error) {
				return observation(), []client.Image{{ContentType: "image/png", Data: picture}}, nil
			}
			p := newPipe(b, newServer(f, nil))
			p.initialize("2025-11-25")
			p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_computer","arguments":{"title":"x"}}}`)
			p.receive()
			session := api.NewID()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"computer_observe","arguments":{"session":%q}}}`, session)
				p.receive()
			}
		})
	}
}
