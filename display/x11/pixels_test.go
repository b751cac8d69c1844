package x11

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xproto"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestGrabRows(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 203, Height: 97})
	p := s.Painter(t)
	for i := range 97 {
		p.Fill(image.Rect(i, i, 203, i+1), uint32(i+1)*0x010203)
	}
	p.Sync()
	c := watchTest(t, s)
	seg, err := c.NewSegment(203 * 97)
	if err != nil {
		t.Fatal(err)
	}
	defer seg.Close()

	for i := range seg.Pix {
		seg.Pix[i] = 0xabcdef
	}
	if err := c.GrabRows(seg, 203, []Rows{{0, 5}, {50, 51}, {90, 97}}); err != nil {
		t.Fatal(err)
	}
	want := p.Pixels(image.Rect(0, 0, 203, 97))
	for y := range 97 {
		grabbed := y < 5 || y == 50 || y >= 90
		for x := range 203 {
			switch got := seg.Pix[y*203+x]; {
			case grabbed && got&0xffffff != want[y*203+x]:
				t.Fatalf("pixel %d,%d is %06x, want %06x", x, y, got, want[y*203+x])
			case !grabbed && got != 0xabcdef:
				t.Fatalf("pixel %d,%d was written", x, y)
			}
		}
	}

	for name, err := range map[string]error{
		"below the screen":       c.GrabRows(seg, 100, []Rows{{90, 98}}),
		"right of the screen":    c.GrabRows(seg, 204, []Rows{{0, 1}}),
		"more than the segment":  c.GrabRows(seg, 203, []Rows{{0, 98}}),
		"good rows and bad ones": c.GrabRows(seg, 100, []Rows{{0, 1}, {97, 98}}),
	} {
		if !errors.Is(err, ErrResized) {
			t.Errorf("%s: %v, want ErrResized", name, err)
		}
	}
	if err := c.GrabRows(seg, 203, []Rows{{0, 97}}); err != nil {
		t.Error(err)
	}
}

// segmentsOf returns the lines about a process's shared memory.
func segmentsOf(t *testing.T, pid int) (lines []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); f[4] == fmt.Sprint(pid) { // cpid
			lines = append(lines, line)
		}
	}
	return lines
}

// checkSegment makes sure that a process has one segment, which nobody but the
// owner can use and which the kernel will remove.
func checkSegment(t *testing.T, pid, owner int) {
	t.Helper()
	lines := segmentsOf(t, pid)
	if len(lines) != 1 {
		t.Fatalf("process %d has the segments %q, want one", pid, lines)
	}
	f := strings.Fields(lines[0]) // key shmid perms size cpid lpid nattch uid ...
	const removedAndPrivate = "1600"
	if f[2] != removedAndPrivate || f[6] != "2" || f[7] != fmt.Sprint(owner) {
		t.Errorf("mode %s, %s attached, user %s; want %s, 2, %d", f[2], f[6], f[7], removedAndPrivate, owner)
	}
}

// TestSegmentAfterKill runs itself as a child that is killed with a segment open.
func TestSegmentAfterKill(t *testing.T) {
	if display := os.Getenv("X11TEST_DISPLAY"); display != "" {
		cookie, _ := hex.DecodeString(os.Getenv("X11TEST_COOKIE"))
		c, err := DialWatch(display, cookie)
		if err == nil {
			_, err = c.NewSegment(1000)
		}
		fmt.Println("child:", err)
		io.Copy(io.Discard, os.Stdin)
		return
	}
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64})
	child := exec.Command(os.Args[0], "-test.run=^TestSegmentAfterKill$")
	child.Env = append(os.Environ(), "X11TEST_DISPLAY="+s.Display, "X11TEST_COOKIE="+hex.EncodeToString(s.Cookie))
	stdin, _ := child.StdinPipe()
	defer stdin.Close()
	stdout, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	if line != "child: <nil>\n" {
		t.Fatalf("the child said %q", line)
	}
	checkSegment(t, child.Process.Pid, os.Geteuid())
	child.Process.Kill()
	child.Wait()
	dialTest(t, s).Sync() // the server has noticed
	if lines := segmentsOf(t, child.Process.Pid); len(lines) != 0 {
		t.Errorf("left behind: %q", lines)
	}
}

// The X server may run as another user, who then gets the segment.
func TestSegmentOfOtherUser(t *testing.T) {
	xvfbtest.NeedThat(t, os.Geteuid() == 0, "root, to start an X server as another user")
	const nobody = 65534
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 64, Height: 64, User: &syscall.Credential{Uid: nobody, Gid: nobody}})
	c := watchTest(t, s)
	seg, err := c.NewSegment(64 * 64)
	if err != nil {
		t.Fatal(err)
	}
	checkSegment(t, os.Getpid(), nobody)
	if err := c.GrabRows(seg, 64, []Rows{{0, 64}}); err != nil {
		t.Error(err)
	}
	seg.Close()
	dialTest(t, s).Sync()
	if lines := segmentsOf(t, os.Getpid()); len(lines) != 0 {
		t.Errorf("left behind: %q", lines)
	}
}

func TestWatch(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 200, Height: 100})
	p := s.Painter(t)
	w := watchTest(t, s)
	take := func() Changes {
		t.Helper()
		ch, err := w.Take()
		if err != nil {
			t.Fatal(err)
		}
		return ch
	}
	first := take()
	if first.Width != 200 || first.Height != 100 || !first.CursorShape || first.Pointer != image.Pt(100, 50) {
		t.Errorf("first Take: %+v", first)
	}

	p.Fill(image.Rect(3, 4, 5, 6), 1)
	p.Fill(image.Rect(30, 4, 35, 6), 1)
	p.Fill(image.Rect(190, 90, 300, 300), 1)
	p.Sync()
	<-w.Changed()
	ch := take()
	if want := []image.Rectangle{image.Rect(3, 4, 5, 6), image.Rect(30, 4, 35, 6), image.Rect(190, 90, 200, 100)}; !slices.Equal(ch.Damage, want) {
		t.Errorf("damage %v, want %v", ch.Damage, want)
	}
	if ch.CursorShape {
		t.Error("the cursor's shape changed by itself")
	}
	if ch = take(); len(ch.Damage) != 0 {
		t.Errorf("damage %v was not taken", ch.Damage)
	}

	// Taken without waiting for its announcement: it is there all the same.
	p.Fill(image.Rect(3, 4, 5, 6), 2)
	p.Sync()
	if ch = take(); len(ch.Damage) != 1 {
		t.Errorf("damage %v", ch.Damage)
	}
	<-w.Changed()

	// Unread damage is announced once.
	for range 100 {
		p.Fill(image.Rect(0, 0, 9, 9), 3)
	}
	p.Sync()
	w.Cursor() // a round trip
	<-w.Changed()
	select {
	case <-w.Changed():
		t.Error("announced again without a Take")
	default:
	}
}

func TestWatchSizeAndCursor(t *testing.T) {
	s := xvfbtest.Start(t, xvfbtest.Options{Width: 200, Height: 100})
	w, other := watchTest(t, s), dialTest(t, s)
	if _, err := w.Take(); err != nil {
		t.Fatal(err)
	}

	// X cursor font: 150 is the glyph of a watch. The serial tells it from before.
	before, err := w.Cursor()
	if err != nil {
		t.Fatal(err)
	}
	font, _ := xproto.NewFontId(other.x)
	cursor, _ := xproto.NewCursorId(other.x)
	xproto.OpenFont(other.x, font, 6, "cursor")
	xproto.CreateGlyphCursor(other.x, cursor, font, font, 150, 151, 0, 0, 0, 0xffff, 0, 0)
	if err := xproto.ChangeWindowAttributesChecked(other.x, other.root, xproto.CwCursor, []uint32{uint32(cursor)}).Check(); err != nil {
		t.Fatal(err)
	}
	xproto.WarpPointer(other.x, 0, other.root, 0, 0, 0, 0, 7, 8)
	other.Sync()
	<-w.Changed()
	ch, err := w.Take()
	if err != nil || !ch.CursorShape || ch.Pointer != image.Pt(7, 8) {
		t.Errorf("Take %+v, %v; want a new shape and the pointer at 7,8", ch, err)
	}
	after, err := w.Cursor()
	if err != nil {
		t.Fatal(err)
	}
	if after.Serial == before.Serial || after.Width == 0 || len(after.Pix) != after.Width*after.Height ||
		!slices.Contains(after.Pix, 0xffff0000) {
		t.Errorf("cursor %d %dx%d with %d pixels, before %d", after.Serial, after.Width, after.Height, len(after.Pix), before.Serial)
	}

	resize(t, other, 160, 80)
	<-w.Changed()
	ch, err = w.Take()
	if err != nil || ch.Width != 160 || ch.Height != 80 {
		t.Errorf("Take %+v, %v; want 160x80", ch, err)
	}
	if w, h := other.Size(); w != 160 || h != 80 {
		t.Errorf("Size() = %d, %d, want 160, 80", w, h)
	}
}

// resize gives the screen a smaller size, as xrandr does.
func resize(t *testing.T, c *Conn, width, height int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	res, err := randr.GetScreenResourcesCurrent(c.x, c.root).Reply()
	check(err)
	name := fmt.Sprintf("%dx%d", width, height)
	mode, err := randr.CreateMode(c.x, c.root, randr.ModeInfo{
		Width: uint16(width), Height: uint16(height), Htotal: uint16(width), Vtotal: uint16(height),
		NameLen: uint16(len(name)),
	}, name).Reply()
	check(err)
	check(randr.AddOutputModeChecked(c.x, res.Outputs[0], mode.Mode).Check())
	_, err = randr.SetCrtcConfig(c.x, res.Crtcs[0], 0, res.ConfigTimestamp, 0, 0, mode.Mode, randr.RotationRotate0, res.Outputs[:1]).Reply()
	check(err)
	check(randr.SetScreenSizeChecked(c.x, c.root, uint16(width), uint16(height), uint32(width), uint32(height)).Check())
}
