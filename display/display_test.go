package display

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/display/supervise"
	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newManager returns a Manager that is closed when the test ends and whose screens
// give up soon.
func newManager(t testing.TB) *Manager {
	t.Helper()
	xvfbtest.Need(t, "Xvfb", "fluxbox")
	m := New(Config{
		StateDir: filepath.Join(t.TempDir(), "screens"),
		Environ:  []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"},
		Menu:     []MenuItem{{Label: "Terminal (plain)", Command: "xterm -T 'from {the} menu'"}},
	})
	m.policy = supervise.Policy{Tries: 4, First: 10 * time.Millisecond, Max: time.Second, Stable: 10 * time.Second}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		left, _ := filepath.Glob(filepath.Join(m.cfg.StateDir, "*"))
		if len(left) > 0 {
			t.Errorf("files are left: %q", left)
		}
	})
	return m
}

func open(t testing.TB, m *Manager) *Screen {
	t.Helper()
	s, err := m.Open(t.Context(), 640, 480)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pixel returns the colour of one pixel after a refresh.
func pixel(t testing.TB, s *Screen, x, y int) (colour uint32, stamp frame.Stamp) {
	t.Helper()
	stamp, err := s.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Frame().Read(func(v frame.View) { colour = v.Pix[y*v.Width+x] })
	return colour, stamp
}

// waitManager waits until the screen has a window manager.
func waitManager(t testing.TB, s *Screen) {
	t.Helper()
	_, err := ask(t.Context(), s, func(ctx context.Context, c *connections) (struct{}, error) {
		return struct{}{}, c.windows.WaitWindowManager(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// S0-68: a screen is an X server with a window manager, and ends as a whole.
func TestOpenScreen(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	if s.Number() != 1 {
		t.Errorf("the first screen has number %d", s.Number())
	}
	if colour, _ := pixel(t, s, 100, 100); colour != Background {
		t.Errorf("the background is %#06x, want %#06x", colour, Background)
	}
	waitManager(t, s)
	if notes := s.TakeNotes(); len(notes) > 0 {
		t.Errorf("notes of a new screen: %q", notes)
	}
	if _, err := s.Input(); err != nil {
		t.Error(err)
	}
	for _, file := range []string{s.Xauthority(), s.serverAuthority()} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, want 0600", file, info.Mode())
		}
	}
	// The command line of the X server tells nobody where the programs' copy is.
	if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.XvfbPID())); err != nil || strings.Contains(string(cmdline), s.dir) {
		t.Errorf("the command line holds %s: %q, %v", s.dir, cmdline, err)
	}
	env := strings.Join(s.Env(), "\n")
	for _, want := range []string{"DISPLAY=" + s.Display(), "XAUTHORITY=" + s.Xauthority(), "LANG=C.UTF-8"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in the environment:\n%s", want, env)
		}
	}
	pid := s.XvfbPID()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the X server is still there: %v", err)
	}
	if _, err := s.Refresh(t.Context()); !errors.Is(err, ErrScreenDown) {
		t.Errorf("refresh of a closed screen: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestCheckSize(t *testing.T) {
	for _, size := range [][2]int{{320, 320}, {1280, 800}, {7680, 7680}} {
		if err := checkSize(size[0], size[1]); err != nil {
			t.Error(err)
		}
	}
	for _, size := range [][2]int{{319, 800}, {800, 319}, {7681, 800}, {800, 7681}, {0, 0}, {-1280, 800}} {
		_, err := new(Manager).Open(t.Context(), size[0], size[1])
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(size[0])+"x"+strconv.Itoa(size[1])) {
			t.Errorf("%v: error %v", size, err)
		}
	}
}

func TestExtremeSizes(t *testing.T) {
	m := newManager(t)
	for _, size := range [][2]int{{MinSide, MinSide}, {MaxSide, MinSide}, {MinSide, MaxSide}} {
		s, err := m.Open(t.Context(), size[0], size[1])
		if err != nil {
			t.Fatal(err)
		}
		pixel(t, s, size[0]-1, size[1]-1)
	}
	if _, err := m.Open(t.Context(), MaxSide, MaxSide); err != nil {
		t.Error(err)
	}
}

func TestAllScreensAtOnce(t *testing.T) {
	m := newManager(t)
	screens := make([]*Screen, Screens)
	var wg sync.WaitGroup
	for i := range screens {
		wg.Go(func() {
			s, err := m.Open(t.Context(), 640, 480)
			if err != nil {
				t.Error(err)
				return
			}
			screens[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	numbers, displays := map[int]bool{}, map[string]bool{}
	for _, s := range screens {
		numbers[s.Number()], displays[s.Display()] = true, true
		pixel(t, s, 0, 0)
	}
	if len(numbers) != Screens || len(displays) != Screens {
		t.Errorf("16 screens have %d numbers and %d displays", len(numbers), len(displays))
	}
	if _, err := m.Open(t.Context(), 640, 480); !errors.Is(err, ErrNoFreeScreen) {
		t.Errorf("a 17th screen: %v", err)
	}
	// The lowest free number is used again.
	for _, s := range screens {
		if s.Number() == 3 || s.Number() == 7 {
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := open(t, m); s.Number() != 3 {
		t.Errorf("the next screen has number %d, want 3", s.Number())
	}
}

func TestCloseDuringOpen(t *testing.T) {
	m := newManager(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := m.Open(ctx, 640, 480); !errors.Is(err, context.Canceled) && err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	wg.Wait()
	for range 4 {
		wg.Go(func() {
			if s, err := m.Open(t.Context(), 640, 480); err == nil {
				s.Close(t.Context())
			}
		})
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := m.Open(t.Context(), 640, 480); err == nil {
		t.Error("a closed Manager opened a screen")
	}
}

// waitEpoch waits for a picture of another X server than stamp's.
func waitEpoch(t testing.TB, s *Screen, old frame.Stamp) frame.Stamp {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for stamp := s.Frame().Stamp(); ; {
		if stamp.Epoch != old.Epoch {
			return stamp
		}
		var err error
		if stamp, err = s.Frame().Wait(ctx, stamp); err != nil {
			t.Fatalf("no new epoch: %v", err)
		}
	}
}

func TestKilledServerComesBack(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) { testKilledServer(t, signal) })
	}
}

func testKilledServer(t *testing.T, signal syscall.Signal) {
	m := newManager(t)
	s := open(t, m)
	_, before := pixel(t, s, 0, 0)
	display, pid := s.Display(), s.XvfbPID()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
	waitEpoch(t, s, before)
	if colour, _ := pixel(t, s, 100, 100); colour != Background {
		t.Errorf("the new background is %#06x", colour)
	}
	if s.Display() != display || s.XvfbPID() == pid {
		t.Errorf("display %s with server %d became %s with %d", display, pid, s.Display(), s.XvfbPID())
	}
	waitManager(t, s)
	notes := waitNotes(t, s)
	if len(notes) != 1 || !strings.Contains(notes[0], "X server stopped and was started again") {
		t.Errorf("notes %q", notes)
	}
	if notes := s.TakeNotes(); len(notes) != 0 {
		t.Errorf("notes were delivered twice: %q", notes)
	}
}

// Whoever gets the first picture of a new X server also gets the note about it.
func TestNoteComesWithTheNewEpoch(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	before, err := s.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.XvfbPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for {
		stamp, err := s.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stamp.Epoch != before.Epoch {
			break
		}
	}
	if notes := s.TakeNotes(); len(notes) != 1 || !strings.Contains(notes[0], "X server stopped and was started again") {
		t.Errorf("notes %q", notes)
	}
}

// waitNotes returns the next notes, but for the one while the window manager is gone.
func waitNotes(t testing.TB, s *Screen) []string {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if notes := s.TakeNotes(); len(notes) > 0 && !strings.Contains(notes[0], "is being started again") {
			return notes
		}
		if time.Now().After(deadline) {
			t.Fatal("no note came")
		}
		time.Sleep(time.Millisecond) // notes are for the next call and signal nothing
	}
}

func TestKilledWindowManagerComesBack(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	_, before := pixel(t, s, 0, 0)
	pid := childOf(t, s, "fluxbox")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	notes := waitNotes(t, s)
	if len(notes) != 1 || !strings.Contains(notes[0], "window manager stopped and was started again") {
		t.Errorf("notes %q", notes)
	}
	if now := childOf(t, s, "fluxbox"); now == pid {
		t.Error("the window manager is the same process")
	}
	if _, after := pixel(t, s, 0, 0); after.Epoch != before.Epoch {
		t.Errorf("the epoch went from %d to %d", before.Epoch, after.Epoch)
	}
}

// childOf returns the process id of the screen's child with a name.
func childOf(t testing.TB, s *Screen, name string) int {
	t.Helper()
	pid, ok := findChild(t, s, name)
	if !ok {
		t.Fatalf("screen %d has no process %s", s.Number(), name)
	}
	return pid
}

func findChild(t testing.TB, s *Screen, name string) (pid int, ok bool) {
	for _, pid := range pids(t) {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.TrimSpace(string(comm)) == name && strings.Contains(string(env), "XAUTHORITY="+s.Xauthority()+"\x00") {
			return pid, true
		}
	}
	return 0, false
}

func pids(t testing.TB) (list []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func TestLostConnectionComesBack(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	_, before := pixel(t, s, 0, 0)
	conns, err := s.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conns.windows.Close()
	waitEpoch(t, s, before)
	notes := waitNotes(t, s)
	if len(notes) != 1 || !strings.Contains(notes[0], "connection") {
		t.Errorf("notes %q", notes)
	}
	pixel(t, s, 0, 0)
}

// fakeProgram puts a script into PATH in front of the real program.
func fakeProgram(t testing.TB, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestBrokenWindowManagerGivesAPlainScreen(t *testing.T) {
	m := newManager(t)
	fakeProgram(t, "fluxbox", "echo it is broken >&2; exit 7\n")
	s := open(t, m)
	pixel(t, s, 0, 0)
	notes := waitNotes(t, s)
	for !strings.Contains(notes[len(notes)-1], "has no window manager") {
		notes = append(notes, waitNotes(t, s)...)
	}
	for _, n := range notes {
		if !strings.Contains(n, "exit status 7") || !strings.Contains(n, "it is broken") {
			t.Errorf("the note does not say why: %q", n)
		}
	}
	if len(notes) != 2 {
		t.Errorf("notes %q", notes)
	}
	xterm(t, s, "plain", os.DevNull)
	w := waitWindow(t, s, "plain", false)
	if err := s.Activate(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	if w := waitWindow(t, s, "plain", false); w.Rect.Empty() || !w.Focused {
		t.Errorf("window %+v", w)
	}
}

func TestMissingWindowManagerGivesAPlainScreen(t *testing.T) {
	m := newManager(t)
	// A PATH with Xvfb and what it needs, and no fluxbox.
	dir := t.TempDir()
	for _, name := range []string{"Xvfb", "xkbcomp", "sh"} {
		for _, from := range filepath.SplitList(os.Getenv("PATH")) {
			if _, err := os.Stat(filepath.Join(from, name)); err == nil {
				os.Symlink(filepath.Join(from, name), filepath.Join(dir, name))
				break
			}
		}
	}
	t.Setenv("PATH", dir)
	s := open(t, m)
	pixel(t, s, 0, 0)
	notes := waitNotes(t, s)
	if len(notes) != 1 || !strings.Contains(notes[0], "fluxbox") {
		t.Errorf("notes %q", notes)
	}
}

func TestBrokenServerFailsClearly(t *testing.T) {
	m := newManager(t)
	fakeProgram(t, "Xvfb", "echo no framebuffer today >&2; exit 1\n")
	_, err := m.Open(t.Context(), 640, 480)
	if !errors.Is(err, ErrScreenDown) || !strings.Contains(err.Error(), "no framebuffer today") {
		t.Errorf("error %v", err)
	}
}

func TestServerThatCannotComeBackFailsClearly(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	pixel(t, s, 0, 0)
	fakeProgram(t, "Xvfb", "echo no framebuffer any more >&2; exit 1\n")
	if err := syscall.Kill(s.XvfbPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.failed
	began := time.Now()
	_, err := s.Refresh(t.Context())
	if !errors.Is(err, ErrScreenDown) || !strings.Contains(err.Error(), "no framebuffer any more") {
		t.Errorf("refresh: error %v", err)
	}
	if _, err := s.Windows(t.Context()); !errors.Is(err, ErrScreenDown) {
		t.Errorf("windows: error %v", err)
	}
	if _, err := s.Input(); !errors.Is(err, ErrScreenDown) {
		t.Errorf("input: error %v", err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("a failed screen answered after %v", d)
	}
}

func TestHangingServerIsReported(t *testing.T) {
	m := newManager(t)
	s := open(t, m)
	pixel(t, s, 0, 0)
	if err := syscall.Kill(s.XvfbPID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err := s.Refresh(t.Context())
	if d := time.Since(began); !errors.Is(err, ErrScreenDown) || d > 5*time.Second {
		t.Errorf("a hanging X server: error %v after %v", err, d)
	}
	if err := syscall.Kill(s.XvfbPID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	pixel(t, s, 0, 0)
	// Close must get past a hanging server too.
	if err := syscall.Kill(s.XvfbPID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestForeignDisplaysAndStaleFilesDoNoHarm(t *testing.T) {
	m := newManager(t)
	n := 1
	lock := func() string { return fmt.Sprintf("/tmp/.X%d-lock", n) }
	for inUse(n) || inUse(n+Screens) || exists(lock()) {
		n++
	}
	// A lock of a living process and a socket file that nobody listens on.
	if err := os.WriteFile(lock(), []byte("         1\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(lock())
	if err := makeSocketDir(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socketPath(n), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openUpTo(t, m, n)
	if want := fmt.Sprint(":", n); s.Display() != want {
		t.Errorf("screen %d has display %s although nobody uses %s", n, s.Display(), want)
	}
	pixel(t, s, 0, 0)

	// Another computer on the same machine.
	other := openUpTo(t, newManager(t), n)
	if want := fmt.Sprint(":", n+Screens); other.Display() != want {
		t.Errorf("the other computer's screen %d has display %s, want %s", n, other.Display(), want)
	}
	pixel(t, s, 0, 0)
	pixel(t, other, 0, 0)
}

// openUpTo opens the screens up to one of a number, and returns that.
func openUpTo(t testing.TB, m *Manager, number int) (s *Screen) {
	t.Helper()
	for range number {
		s = open(t, m)
	}
	return s
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// usage is what must stay constant over open and close.
type usage struct{ files, segments, goroutines, zombies int }

func measure(t testing.TB) (u usage) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	u.files = len(files)
	self := strconv.Itoa(os.Getpid())
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(segments)) {
		// key shmid perms size cpid ...
		if f := strings.Fields(line); len(f) > 4 && f[4] == self {
			u.segments++
		}
	}
	u.goroutines = runtime.NumGoroutine()
	for _, pid := range pids(t) {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); len(f) > 1 && f[0] == "Z" && f[1] == self {
			u.zombies++
		}
	}
	return u
}

func TestOpenAndCloseLeaveNothing(t *testing.T) {
	cycles := 100
	if testing.Short() {
		cycles = 10
	}
	m := newManager(t)
	cycle := func() {
		s := open(t, m)
		pixel(t, s, 0, 0)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	before := measure(t)
	for range cycles {
		cycle()
	}
	after := measure(t)
	if after.files > before.files || after.segments > 0 || after.zombies > 0 || after.goroutines > before.goroutines+2 {
		t.Errorf("after %d screens: %+v, before: %+v", cycles, after, before)
	}
	if left, _ := filepath.Glob("/tmp/server-1.xkm"); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
	if _, err := os.Stat(socketPath(1)); !inUse(1) && err == nil {
		t.Error("the socket file is left")
	}
}

// TestScreenSurvivesWhateverDies kills parts of screens in any order while others
// use them.
func TestScreenSurvivesWhateverDies(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	m := newManager(t)
	m.policy.Stable = 0 // no number of kills is too many
	s := open(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, use := range []func() error{
		func() error { _, err := s.Refresh(ctx); return err },
		func() error { _, err := s.Windows(ctx); return err },
		func() error { _, err := s.Frame().Wait(ctx, s.Frame().Stamp()); return err },
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				err := use()
				if err != nil && !errors.Is(err, ErrScreenDown) && !errors.Is(err, context.Canceled) {
					t.Errorf("seed %d: %v", seed, err)
				}
				if d := time.Since(began); errors.Is(err, ErrScreenDown) && d > 5*time.Second {
					t.Errorf("seed %d: an answer took %v", seed, d)
				}
			}
		})
	}
	for range rounds {
		_, before := pixel(t, s, 0, 0)
		switch random.IntN(3) {
		case 0:
			syscall.Kill(s.XvfbPID(), syscall.SIGKILL)
			waitEpoch(t, s, before)
		case 1:
			if pid, ok := findChild(t, s, "fluxbox"); ok { // it may be dead already
				syscall.Kill(pid, syscall.SIGKILL)
			}
		case 2:
			if conns, err := s.ready(ctx); err == nil {
				conns.windows.Close()
			}
		}
	}
	cancel()
	wg.Wait()
	pixel(t, s, 0, 0)
	waitManager(t, s)
}
