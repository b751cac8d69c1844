package hostmcp

import (
	"context"
	"maps"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// movingComputer is a computer whose port is another at each start. Nobody answers there.
type movingComputer struct {
	*fakeComputer
	port string

	mu    sync.Mutex
	dials map[string]int // by port; guarded by mu
}

func (m *movingComputer) Ensure(context.Context, func(string)) (*engine.Endpoint, error) {
	return &engine.Endpoint{BaseURL: "http://127.0.0.1:" + m.port, Token: "token", Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.dials[port]++
		return nil, net.ErrClosed
	}}, nil
}

// The hearts of all peers follow a computer that was started again: its token, which stays
// the same, goes to no port that another program may have by now.
func TestHeartsFollowTheComputer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		where := &movingComputer{port: "1", dials: map[string]int{}}
		s := New(Config{
			Settings: NewSettings(func(string) string { return "" }),
			Engine:   func(*Settings) (engine.Engine, error) { return where, nil },
		})
		one, two := &peer{owner: api.NewID(), hearts: s.hearts}, &peer{owner: api.NewID(), hearts: s.hearts}
		s.peers["1"], s.peers["2"], s.peers["idle"] = one, two, &peer{owner: api.NewID(), hearts: s.hearts}
		find := func(port string, callers ...*peer) {
			t.Helper()
			where.port = port
			for _, p := range callers {
				if _, _, err := s.ensure(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				s.keepAlive(p)
			}
			time.Sleep(api.HeartbeatEvery / 4)
			where.mu.Lock()
			clear(where.dials)
			where.mu.Unlock()
			time.Sleep(2 * api.HeartbeatEvery)
			where.mu.Lock()
			defer where.mu.Unlock()
			if want := map[string]int{port: 4}; !maps.Equal(where.dials, want) {
				t.Errorf("dials by port %v, want %v", where.dials, want)
			}
		}
		find("1", one, two)
		find("2", one)
		find("2", two)
		find("3", two)
		s.endHearts()
		s.running.Wait()
	})
}
