package rfbtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/rfb/vncauth"
)

// Options say how a Client logs in.
type Options struct {
	Version  string // "RFB 003.008\n" when empty
	Password string // empty: security type None is expected
}

// Client is a viewer. Its exported fields are what the server told; they are for
// the goroutine that reads.
type Client struct {
	Name          string
	Width, Height int
	Native        Format // what the server offered
	Format        Format // in force
	Pix           []uint32
	Map           [256]uint32    // colours 0x00RRGGBB, for formats without true colour
	Cursor        *Cursor        // the latest shape, nil before the first
	LEDs          int            // -1 until told
	Count         map[string]int // of rectangles, by the name of their encoding; of Tight's kinds too
	Bells         int
	KeysTold      int // acknowledgements of the QEMU key event
	ButtonsTold   int // ... of ExtendedMouseButtons
	Layout        int // status of the latest answer to SetDesktopSize, -1 before

	// Mute makes the client echo no fences.
	Mute bool
	// AnyPadding lets an update's padding be anything, as x11vnc has it.
	AnyPadding bool

	rwc   io.ReadWriteCloser
	r     *reader
	zlib  inflater
	zrle  inflater
	tight [4]inflater

	mu         sync.Mutex
	listed     map[int32]bool // guarded by mu; what the server may send
	jpeg       bool           // guarded by mu; a quality level was ever listed
	requests   int            // guarded by mu; update requests that may still be answered
	continuous bool           // guarded by mu; updates may come unasked
	fences     [][]byte       // guarded by mu; payloads sent and not echoed

	continuousTold bool // guarded by mu; the server understands continuous updates
}

// Cursor is a pointer's shape.
type Cursor struct {
	Kind          string // name of the encoding
	Width, Height int
	HotX, HotY    int
	Pix           []uint32 // in the client's format for Cursor; 0xAARRGGBB for those with alpha
	Mask          []bool   // for Cursor and XCursor
}

// New returns a client for a server that is at the other end of rwc.
func New(rwc io.ReadWriteCloser) *Client {
	return &Client{
		rwc: rwc, r: newReader(rwc), LEDs: -1, Layout: -1,
		Count: make(map[string]int), listed: map[int32]bool{Raw: true},
	}
}

// Close ends the connection.
func (c *Client) Close() error {
	for _, z := range []*inflater{&c.zlib, &c.zrle, &c.tight[0], &c.tight[1], &c.tight[2], &c.tight[3]} {
		z.close()
	}
	return c.rwc.Close()
}

// Received returns how many bytes of the server's stream were read.
func (c *Client) Received() int64 { return c.r.offset }

// Quiet reports whether the server sends nothing for a time. The transport must
// have read deadlines.
func (c *Client) Quiet(d time.Duration) bool {
	conn := c.rwc.(interface{ SetReadDeadline(time.Time) error })
	conn.SetReadDeadline(time.Now().Add(d))
	defer conn.SetReadDeadline(time.Time{})
	_, err := c.r.r.Peek(1)
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// Refused is a server's refusal to serve, in a form that the protocol allows.
type Refused struct {
	Reason string // empty when the version carries none
}

func (r *Refused) Error() string { return "refused: " + r.Reason }

// Handshake runs the protocol up to ServerInit (RFC 6143 sections 7.1 to 7.3).
func (c *Client) Handshake(o Options) error {
	r := c.r
	r.in = "version"
	if v := string(r.bytes(12)); v != "RFB 003.008\n" {
		r.slip(0, "the server's version is %q", v)
	}
	if o.Version == "" {
		o.Version = "RFB 003.008\n"
	}
	if err := c.Send([]byte(o.Version)); err != nil {
		return err
	}
	if err := c.security(o); err != nil {
		return err
	}
	if err := c.Send([]byte{0}); err != nil { // ClientInit, not shared
		return err
	}
	r.in = "ServerInit"
	c.Width, c.Height = r.u16(), r.u16()
	at := r.offset
	c.Native = parseFormat(r.bytes(13))
	if c.Native != Formats["bgrx"] {
		r.slip(at, "the native format is %+v", c.Native)
	}
	r.zero(3)
	c.Format = c.Native
	c.Name = r.text(1 << 16)
	if !utf8.ValidString(c.Name) {
		r.slip(at, "the name is not UTF-8")
	}
	if c.Width == 0 || c.Height == 0 {
		r.slip(at, "the screen has %dx%d pixels", c.Width, c.Height)
	}
	c.Pix = make([]uint32, c.Width*c.Height)
	return r.err
}

// security agrees on a type and proves the password.
func (c *Client) security(o Options) error {
	r := c.r
	r.in = "security"
	var minor int
	fmt.Sscanf(o.Version, "RFB 003.%03d\n", &minor)
	want := byte(1)
	if o.Password != "" {
		want = 2
	}
	at := r.offset
	if minor < 7 {
		kind := r.u32()
		if kind == 0 && r.err == nil {
			return c.refusal()
		}
		if kind != uint32(want) {
			r.slip(at, "security type %d, not %d", kind, want)
		}
	} else {
		n := r.u8()
		if n == 0 && r.err == nil {
			return c.refusal()
		}
		found := false
		for _, kind := range r.bytes(int(n)) {
			found = found || kind == want
		}
		if !found {
			r.slip(at, "security type %d is not offered", want)
		}
		if err := c.Send([]byte{want}); err != nil {
			return err
		}
	}
	if want == 2 {
		answer := vncauth.Answer(o.Password, [vncauth.ChallengeSize]byte(r.bytes(vncauth.ChallengeSize)))
		if err := c.Send(answer[:]); err != nil {
			return err
		}
	} else if minor < 8 {
		return r.err
	}
	r.in = "SecurityResult"
	at = r.offset
	switch result := r.u32(); {
	case r.err != nil || result == 0:
	case result != 1:
		r.slip(at, "security result %d", result)
	case minor < 8:
		return &Refused{}
	default:
		return c.refusal()
	}
	return r.err
}

func (c *Client) refusal() error {
	reason := c.r.text(1 << 16)
	if c.r.err != nil {
		return c.r.err
	}
	return &Refused{reason}
}

// RGB returns the colour 0x00RRGGBB of a pixel of Pix.
func (c *Client) RGB(x, y int) uint32 {
	v := c.Pix[y*c.Width+x]
	if !c.Format.TrueColour {
		return c.Map[v&0xff]
	}
	return c.Format.RGB(v)
}

// Send writes bytes as they are.
func (c *Client) Send(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.rwc.Write(b)
	return err
}

func (c *Client) isListed(e int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed[e]
}

func appendU16s(b []byte, values ...int) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return b
}
