package rfb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// Role is what a viewer may do.
type Role int32

// The roles. A Viewer's keys, buttons and clipboard are dropped, and it is not
// sent the screen's clipboard.
const (
	Viewer Role = iota
	Controller
)

// String returns "viewer" or "controller".
func (r Role) String() string {
	if r == Controller {
		return "controller"
	}
	return "viewer"
}

// Input takes the keys and the pointer of one viewer and remembers what that
// viewer holds down. A Conn calls it from one goroutine at a time.
type Input interface {
	// Key presses or releases the key that makes an X keysym.
	Key(keysym uint32, down bool) error
	// Keycode presses or releases a key by its X (evdev) keycode.
	Keycode(keycode byte, down bool) error
	// Move moves the pointer to a pixel of the screen.
	Move(x, y int) error
	// Button presses or releases a button, 1 to 9; 4 to 7 scroll up, down, left, right.
	Button(button int, down bool) error
	// Release releases all that is still held. It may be called more than once.
	Release(ctx context.Context) error
}

// Config says what a viewer is shown and may do. Only Screen is needed in any case.
type Config struct {
	Screen *Screen

	// Password is asked for with VNC authentication, which takes no more than
	// its first 8 bytes. Without a password nobody gets in unless NoAuth is set.
	Password string
	// NoAuth lets the viewer in without a password, for a transport that has
	// proved the peer already.
	NoAuth bool
	// Refuse, when set, is told to the viewer in place of serving it.
	Refuse error
	// Guard delays wrong passwords. Share one among all connections; nil delays
	// each by the same time.
	Guard *Guard

	// Role is the first one; see [Conn.SetRole].
	Role Role
	// OnInput is asked when a Viewer presses a button or a key, other than a lock:
	// true makes it a Controller, and the press counts. Nil means no.
	OnInput func(*Conn) bool
	// Input takes a Controller's input; nil drops it. It belongs to this Conn,
	// which releases it at its end.
	Input Input
	// SetClipboard is called with the text that a Controller copied. It may take
	// its time: only this viewer waits for it.
	SetClipboard func(text string)

	// OnEnd is called once, when the connection has ended and nothing of the other
	// functions runs any more, also for a viewer that did not get in. It may be nil.
	OnEnd func()

	// Peer is the viewer's address, for Info, Guard and the log.
	Peer string
	// Log gets what is worth knowing; nil is silent. Neither passwords nor
	// clipboard text are logged.
	Log *slog.Logger
}

// How long a viewer may keep the server waiting.
const (
	handshakeTimeout = 20 * time.Second
	passwordTimeout  = 2 * time.Minute  // a person may be typing it
	stallTimeout     = 30 * time.Second // for the rest of a message, or to take 64 KiB
)

// ErrTimeout is the reason for the end of a connection whose viewer kept silent in
// the handshake or within a message, or did not take what it was sent.
var ErrTimeout = errors.New("the viewer did not answer in time")

// Conn is the connection of one viewer.
type Conn struct {
	id      uint64
	cfg     Config
	rwc     io.ReadWriteCloser
	log     *slog.Logger
	started time.Time
	onLogin func() // told by Server, may be nil

	in       *bufio.Reader
	source   *patientReader
	patience *time.Timer // ends the connection when the viewer keeps us waiting for its bytes
	stalled  *time.Timer // ... or does not take ours, or leaves a fence unanswered

	role        atomic.Int32
	sent        atomic.Int64 // bytes
	encoding    atomic.Int64 // nanoseconds
	buttonsTold atomic.Bool  // the viewer was told of ExtendedMouseButtons

	inputMu    sync.Mutex  // held around every use of cfg.Input
	held       heldInput   // guarded by inputMu
	releaseDue atomic.Bool // control was lost: whoever unlocks inputMu releases what is held

	mu       sync.Mutex
	want     wants              // guarded by mu
	flow     flow               // guarded by mu
	clip     clipboard          // guarded by mu
	news     bool               // guarded by mu; the writer has to look at want again
	sleeping context.CancelFunc // guarded by mu; ends the writer's sleep
	drained  *sync.Cond         // of mu; the outbox has room, or the connection ends
	ended    bool               // guarded by mu
	takeBy   time.Time          // guarded by mu; when what is being written must be taken; zero: nothing is
	watched  bool               // guarded by mu; stalled will fire

	w writerState // the writer's own
}

// wants is what the reader tells the writer.
type wants struct {
	errands

	format encode.PixelFormat
	caps   capabilities

	continuous     bool // updates without being asked
	continuousArea image.Rectangle

	pointer ownPointer
	syncing []byte // answer to a fence, due with the next message

	// Filled in for the writer.
	flowing bool // under continuous updates, another may be sent
}

// errands are done once.
type errands struct {
	outbox    []byte // messages ready to be sent, before any update
	clipboard []byte // the latest message about the clipboard, likewise

	requested bool            // an update was asked for
	area      image.Rectangle // where
	afresh    image.Rectangle // the part of it whose old content the viewer does not have

	layout  bool     // tell the size even when it did not change
	answers []uint16 // status codes that answer SetDesktopSize
}

var lastConnID atomic.Uint64

// NewConn returns the connection of a viewer that speaks RFB over rwc. Closing rwc
// must end a Read and a Write that wait.
func NewConn(rwc io.ReadWriteCloser, cfg Config) *Conn {
	c := &Conn{id: lastConnID.Add(1), cfg: cfg, rwc: rwc, log: cfg.Log, started: time.Now()}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.log = c.log.With("viewer", c.id, "peer", cfg.Peer)
	c.role.Store(int32(cfg.Role))
	c.drained = sync.NewCond(&c.mu)
	c.want.format = encode.Native
	c.want.caps = noCapabilities
	c.clip = clipboard{peer: clipDefaultPeer, limit: clipDefaultLimit}
	return c
}

// Run serves the viewer until it leaves, breaks the protocol or stalls, or until
// ctx ends. It closes the transport and releases what the viewer held down. It
// returns nil when the viewer left between two messages, a *[ProtocolError],
// [ErrWrongPassword], [ErrTimeout], ctx's cause or an error of the transport. Run
// may be called once.
func (c *Conn) Run(ctx context.Context) error {
	if c.cfg.OnEnd != nil {
		defer c.cfg.OnEnd()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(ctx, func() { c.rwc.Close() })()
	defer c.rwc.Close()
	defer cancel(nil)

	expire := func() { cancel(ErrTimeout) }
	c.patience = time.AfterFunc(handshakeTimeout, expire)
	defer c.patience.Stop()
	c.watched = true
	c.stalled = time.AfterFunc(stallTimeout, func() { c.checkStall(expire) })
	defer c.stalled.Stop()
	c.source = &patientReader{r: c.rwc, timer: c.patience}
	c.in = bufio.NewReaderSize(c.source, 16<<10)

	if err := c.handshake(ctx); err != nil {
		return firstCause(ctx, fmt.Errorf("handshake: %w", err))
	}
	c.patience.Stop()

	c.cfg.Screen.add(c)
	defer c.cfg.Screen.remove(c)
	defer c.withInput(c.releaseHeld)
	written := make(chan struct{})
	go func() {
		defer close(written)
		cancel(c.write(ctx))
		c.end()
	}()
	err := c.read()
	if err == nil {
		err = errLeft
	}
	cancel(err)
	c.end()
	<-written
	if err := firstCause(ctx, err); !errors.Is(err, errLeft) {
		return err
	}
	return nil
}

// errLeft ends a connection whose viewer closed it between two messages.
var errLeft = errors.New("the viewer left")

// firstCause prefers what ended ctx to err: when a timer or the other goroutine
// closes the transport, err only tells that it is closed.
func firstCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// end lets nobody wait any longer for a writer that is gone.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.drained.Broadcast()
	c.wake()
}

// wake makes the writer look at want again. The caller holds mu.
func (c *Conn) wake() {
	c.news = true
	if c.sleeping != nil {
		c.sleeping()
	}
}

// SetRole changes what the viewer may do from now on. A viewer that loses control
// releases what it held. Any goroutine may call it, also from within OnInput or
// Input: it waits for no call of those. An event that is being acted on may still
// come to its end, and is released as well.
func (c *Conn) SetRole(r Role) {
	if was := Role(c.role.Swap(int32(r))); was == r {
		return
	}
	c.log.Info("role changed", "role", r)
	if r == Viewer {
		c.releaseDue.Store(true)
		c.releaseIfDue()
	}
}

// Role returns what the viewer may do now.
func (c *Conn) Role() Role { return Role(c.role.Load()) }

// Info describes a viewer.
type Info struct {
	ID        uint64 // of this process's connections, from 1
	Peer      string
	Kind      string // a guess: "noVNC", "TigerVNC", ...; "VNC viewer" when unknown
	Role      Role
	Connected time.Time
	RTT       time.Duration // least of the latest round trips; 0 when not measured
	Sent      int64         // bytes
	Encoding  time.Duration // time spent making updates for it
}

// Info describes the viewer. Any goroutine may call it.
func (c *Conn) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Info{
		ID: c.id, Peer: c.cfg.Peer, Kind: c.want.caps.kind.String(), Role: c.Role(), Connected: c.started,
		RTT: c.flow.rtt(), Sent: c.sent.Load(), Encoding: time.Duration(c.encoding.Load()),
	}
}

// patientReader lets the viewer take its time between messages but not within one.
type patientReader struct {
	r      io.Reader
	timer  *time.Timer // ends the connection
	within bool        // a message has begun
}

func (p *patientReader) Read(b []byte) (int, error) {
	if p.within {
		p.timer.Reset(stallTimeout)
		defer p.timer.Stop()
	}
	return p.r.Read(b)
}
