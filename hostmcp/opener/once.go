package opener

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// visitTime is how long a browser has to come to an address of once. One that has to
// start first, on a slow disk, may take long.
const visitTime = time.Minute

// once returns an address on 127.0.0.1 that leads to the link, for one visitor.
func (o *Opener) once(link string) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the browser: %v", err)
	}
	path := "/" + rand.Text()
	ctx, visited := context.WithTimeout(o.ctx, visitTime)
	var used atomic.Bool
	server := &http.Server{
		ReadHeaderTimeout: visitTime,
		ErrorLog:          slog.NewLogLogger(o.log.Handler(), slog.LevelDebug),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Referrer-Policy", "no-referrer")
			if r.Method != http.MethodGet || r.Host != l.Addr().String() || r.URL.Path != path || used.Swap(true) {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Location", link)
			w.WriteHeader(http.StatusSeeOther)
			visited()
		}),
	}
	o.pending.Go(func() { server.Serve(l) })
	o.pending.Go(func() {
		<-ctx.Done()
		visited()
		// The answer under way may finish.
		last, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(last) != nil {
			server.Close()
		}
	})
	return "http://" + l.Addr().String() + path, nil
}
