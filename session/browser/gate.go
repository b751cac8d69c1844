package browser

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/falleng0d/computer-use-mcp/api"
)

// gate lets the programs of one session at the DevTools protocol of its browser. It is a
// port on the loopback address that stays the same while the screen is open, and starts
// Chromium for a program that connects while none runs. It answers what such programs ask
// first (/json/version), and connects them with the browser as a whole, which leads to
// every page.
type gate struct {
	browser *Browser
	server  http.Server
	address string // host:port
	work    sync.WaitGroup
	ctx     context.Context // ends with the gate
	end     context.CancelFunc
}

// endpoint is the path of the WebSocket.
const endpoint = "/devtools/browser"

// DevTools returns the address, http://127.0.0.1:port, at which programs of the screen's
// session reach the DevTools protocol of its Chromium, as chrome-devtools-mcp's --browserUrl
// takes it; others are refused. It starts Chromium if none runs. The address is good until
// Close, whatever becomes of Chromium.
func (b *Browser) DevTools(ctx context.Context) (address string, err error) {
	if err := b.Open(ctx, ""); err != nil {
		return "", err
	}
	leave, err := b.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if b.gate == nil {
		return "", b.failed(ctx, "The browser's DevTools cannot be reached", b.gateErr)
	}
	return "http://" + b.gate.address, nil
}

// openGate listens.
func (b *Browser) openGate() (*gate, error) {
	port := 0
	if base := b.all.cfg.PortBase; base != 0 {
		port = base + b.screen.Number
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	g := &gate{browser: b, address: l.Addr().String()}
	g.ctx, g.end = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /json/version", g.version)
	mux.HandleFunc("GET "+endpoint, g.connect)
	g.server.Handler = mux
	g.work.Go(func() { g.server.Serve(l) })
	return g, nil
}

// at returns where it listens, for people.
func (g *gate) at() string {
	if g == nil {
		return "off"
	}
	return g.address
}

// close ends the connections and returns when they have ended.
func (g *gate) close() {
	g.end()
	g.server.Close()
	g.work.Wait()
}

// version answers as Chromium does.
func (g *gate) version(w http.ResponseWriter, r *http.Request) {
	if !fromHere(r) {
		http.Error(w, "only programs on the loopback address", http.StatusForbidden)
		return
	}
	info := map[string]string{"Browser": "Chromium", "Protocol-Version": "1.3", "webSocketDebuggerUrl": "ws://" + g.address + endpoint}
	if run := g.browser.current(); run != nil {
		var v struct{ Product, UserAgent string }
		if run.conn.call(r.Context(), "", "Browser.getVersion", nil, &v) == nil {
			info["Browser"], info["User-Agent"] = v.Product, v.UserAgent
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(info)
}

// fromHere refuses what a web page may have sent: a request for another name than this
// address, or one with an Origin.
func fromHere(r *http.Request) bool {
	_, ok := api.LoopbackHost(r.Host)
	return ok && r.Header.Get("Origin") == ""
}

// connect makes the peer one of Chromium's clients.
func (g *gate) connect(w http.ResponseWriter, r *http.Request) {
	if !fromHere(r) || !g.browser.screen.Owns(r.RemoteAddr) {
		http.Error(w, "this browser belongs to another session", http.StatusForbidden)
		return
	}
	g.work.Add(1)
	defer g.work.Done()
	leave, err := g.browser.enter(g.ctx)
	if err != nil {
		return
	}
	run, err := g.browser.ensure(g.ctx)
	leave()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	upgrader := websocket.Upgrader{ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it was answered
	}
	c := &guest{run: run, ws: ws, queue: make(chan message, maxQueue), sessions: make(map[string]bool)}
	c.serve(g.ctx)
}
