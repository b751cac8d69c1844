package x11

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/jezek/xgb/xproto"
	"golang.org/x/sys/unix"
)

// ErrResized is matched by [Watch.GrabRows] when the rows are not inside the root
// window: it was resized since the caller asked for its size.
var ErrResized = errors.New("the screen was resized")

// Segment is memory that the X server writes pictures to (MIT-SHM over System V
// shared memory). Only this process's user and the X server's can open it, and
// the kernel frees it when both have let go of it, however they ended.
type Segment struct {
	// Pix is the memory as pixels of the X server: 0x??RRGGBB, the top byte
	// undefined. It is written only during GrabRows, and gone after Close.
	Pix []uint32

	watch *Watch
	id    uint32
	mem   []byte
}

// NewSegment returns a Segment with room for the given number of pixels. It uses
// up an X resource number, so keep it; the caller closes it.
func (w *Watch) NewSegment(pixels int) (*Segment, error) {
	if err := w.checkPixelFormat(); err != nil {
		return nil, fmt.Errorf("share memory with the X server: %w", err)
	}
	s := &Segment{watch: w, id: w.wire.newID()}
	kernelID, err := s.allocate(pixels * 4)
	if err != nil {
		return nil, fmt.Errorf("share memory with the X server: %w", err)
	}
	var r requests
	r.add(w.memory.major, shmAttach, s.id, uint32(kernelID), 0) // to be written
	r.add(getInputFocus, 0)
	if _, err = w.wire.roundTrip(&r); err != nil {
		unix.SysvShmDetach(s.mem)
		return nil, failed("share memory with the X server", err)
	}
	s.Pix = unsafe.Slice((*uint32)(unsafe.Pointer(&s.mem[0])), pixels)
	return s, nil
}

// allocate maps a new segment of the given number of bytes and returns its number.
func (s *Segment) allocate(size int) (id int, err error) {
	server, err := s.watch.serverUID()
	if err != nil {
		return 0, err
	}
	id, err = unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o600)
	if err != nil {
		return 0, fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	s.mem, err = unix.SysvShmAttach(id, 0, 0)
	// Linux lets a removed segment be attached while somebody has it mapped, so it
	// is removed as soon as it is mapped here: nothing is left of it whenever this
	// process is killed.
	defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if err != nil {
		return 0, fmt.Errorf("map %d bytes: %w", size, err)
	}
	if server == uint32(unix.Geteuid()) {
		return id, nil
	}
	// Mode 0600 lets the owner in as well as the creator, so give it to the server.
	var desc unix.SysvShmDesc
	if _, err = unix.SysvShmCtl(id, unix.IPC_STAT, &desc); err == nil {
		desc.Perm.Uid = server
		_, err = unix.SysvShmCtl(id, unix.IPC_SET, &desc)
	}
	if err != nil {
		unix.SysvShmDetach(s.mem)
		return 0, fmt.Errorf("give the memory to user %d: %w", server, err)
	}
	return id, nil
}

// Close lets go of the memory, on both sides while the X server lives. It may be
// called twice.
func (s *Segment) Close() {
	if s.mem == nil {
		return
	}
	var r requests
	r.add(s.watch.memory.major, shmDetach, s.id)
	r.add(getInputFocus, 0)
	_, _ = s.watch.wire.roundTrip(&r) // its error is that the server is gone, and its half with it
	unix.SysvShmDetach(s.mem)
	s.mem, s.Pix = nil, nil
}

// serverUID returns the user that the X server ran as when it opened its socket.
func (w *Watch) serverUID() (uint32, error) {
	raw, err := w.wire.socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if ctrlErr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); ctrlErr != nil {
		return 0, ctrlErr
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the X server's user: %w", err)
	}
	return cred.Uid, nil
}

// checkPixelFormat makes sure that the root window's pixels are what Segment
// promises: 32 bits, little-endian, red in the third byte.
func (w *Watch) checkPixelFormat() error {
	setup := w.wire.setup
	if setup.ImageByteOrder != xproto.ImageOrderLSBFirst {
		return errors.New("the X server's pixels are big-endian")
	}
	for _, f := range setup.PixmapFormats {
		if f.Depth == w.screen.RootDepth && f.BitsPerPixel != 32 {
			return fmt.Errorf("the X server's pixels have %d bits, not 32", f.BitsPerPixel)
		}
	}
	for _, depth := range w.screen.AllowedDepths {
		for _, v := range depth.Visuals {
			if v.VisualId == w.screen.RootVisual && (v.RedMask != 0xff0000 || v.GreenMask != 0xff00 || v.BlueMask != 0xff) {
				return fmt.Errorf("the X server's colours are %#x, %#x, %#x in a pixel", v.RedMask, v.GreenMask, v.BlueMask)
			}
		}
	}
	return nil
}

// Rows is a band of whole rows of the screen, from Min up to but not including Max.
type Rows struct{ Min, Max int }

// GrabRows copies bands of the root window, which is width pixels wide, to their
// places in s: row y begins at s.Pix[y*width]. The requests go out together and
// cost one round trip; the server may draw between two bands.
func (w *Watch) GrabRows(s *Segment, width int, bands []Rows) error {
	var r requests
	for _, b := range bands {
		if b.Max*width > len(s.Pix) {
			return fmt.Errorf("grab rows %d to %d: %w", b.Min, b.Max, ErrResized)
		}
		position, size := uint32(b.Min)<<16, uint32(b.Max-b.Min)<<16|uint32(width)
		r.add(w.memory.major, shmGetImage, uint32(w.screen.Root), position, size,
			0xffffffff, xproto.ImageFormatZPixmap, s.id, uint32(b.Min*width*4))
	}
	_, err := w.wire.roundTrip(&r)
	if refused, ok := errors.AsType[*xError](err); ok && refused.code == xproto.BadMatch {
		err = ErrResized
	}
	return failed("grab rows", err)
}
