package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/display/x11"
	"github.com/falleng0d/computer-use-mcp/session/files"
)

func wait(t *testing.T, s *Session, request string) api.WaitResult {
	t.Helper()
	var r api.WaitRequest
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		t.Fatal(err)
	}
	result, _, err := s.Wait(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return result
}

// S3-11
func TestWaitStill(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		if r := wait(t, s, `{}`); !r.Met || r.WaitedMS != 500 {
			t.Errorf("a still screen: %+v", r)
		}
		// A bar that moves for two seconds. After an action that would be left alone;
		// here it is what is waited for.
		go func() {
			for i := range 20 {
				time.Sleep(100 * time.Millisecond)
				screen.paint(image.Rect(0, 0, 16*(i+1), 16), uint32(i+1))
			}
		}()
		if r := wait(t, s, `{"for":"still"}`); !r.Met || r.WaitedMS != 2500 {
			t.Errorf("a bar: %+v", r)
		}
		// Elsewhere the screen is still, and time runs out where it is not.
		stop := make(chan struct{})
		go func() {
			for c := uint32(1); ; c++ {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					screen.paint(image.Rect(0, 0, 64, 64), c)
				}
			}
		}()
		if r := wait(t, s, `{"region":{"x":100,"y":100,"width":50,"height":50}}`); !r.Met || r.WaitedMS != 500 {
			t.Errorf("elsewhere: %+v", r)
		}
		if r := wait(t, s, `{"region":{"x":60,"y":60,"width":50,"height":50},"timeout_ms":3000}`); !r.Met || r.WaitedMS != 500 {
			// Only one cell of the region moves, which counts for nothing.
			t.Errorf("one cell: %+v", r)
		}
		if r := wait(t, s, `{"timeout_ms":3000}`); r.Met || r.WaitedMS != 3000 || r.Frame.Width != 320 || *r.Region != (api.Region{Width: 64, Height: 64}) {
			t.Errorf("a screen that does not rest: %+v", r)
		}
		close(stop)
		// A percentage is small. In a region that was named for it, it counts.
		go func() {
			for c := range uint32(20) {
				time.Sleep(100 * time.Millisecond)
				screen.paint(image.Rect(100, 100, 116, 108), 2*c)
			}
		}()
		if r := wait(t, s, `{"region":{"x":96,"y":96,"width":64,"height":32}}`); !r.Met || r.WaitedMS != 2500 {
			t.Errorf("a percentage: %+v", r)
		}
	})
}

func TestWaitChange(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		time.AfterFunc(time.Second, func() { screen.paint(image.Rect(0, 0, 8, 8), 1) })
		time.AfterFunc(2*time.Second, func() { screen.paint(image.Rect(200, 200, 201, 201), 1) })
		if r := wait(t, s, `{"for":"change","region":{"x":200,"y":200,"width":5,"height":5}}`); !r.Met || r.WaitedMS != 2000 || *r.Region != (api.Region{X: 200, Y: 200, Width: 8, Height: 8}) {
			t.Errorf("%+v", r)
		}
		if r := wait(t, s, `{"for":"change","timeout_ms":700}`); r.Met || r.WaitedMS != 700 {
			t.Errorf("%+v", r)
		}
	})
}

func TestWaitWindow(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		time.AfterFunc(1100*time.Millisecond, func() {
			screen.mu.Lock()
			defer screen.mu.Unlock()
			screen.windows = []x11.Window{{ID: 1, Title: "Save As - Editor", Hidden: true}}
		})
		if r := wait(t, s, `{"for":"window","title":"save as"}`); !r.Met || r.WaitedMS != 1500 {
			t.Errorf("%+v", r)
		}
		if r := wait(t, s, `{"for":"window","title":"print","timeout_ms":0}`); r.Met {
			t.Errorf("%+v", r)
		}
		if r := wait(t, s, `{"for":"window","title":"save as","timeout_ms":0}`); !r.Met || r.WaitedMS != 0 {
			t.Errorf("a look without a wait: %+v", r)
		}
	})
}

func TestWaitFileAndPort(t *testing.T) {
	table, _ := newTable(t)
	table.cfg.Programs.Home = t.TempDir()
	table.cfg.Files = files.Runner{Command: []string{"/proc/self/exe", filesArgument}, Home: table.cfg.Programs.Home}
	s := start(t, table, nil)
	defer table.End(s.ID())
	s.work.cwd = filepath.Join(table.cfg.Programs.Home, "docs") // as set_cwd does
	for _, path := range []string{"~/report.pdf", "../report.pdf", filepath.Join(table.cfg.Programs.Home, "report.pdf")} {
		request := fmt.Sprintf(`{"for":"file","path":%q,"timeout_ms":0}`, path)
		if r := wait(t, s, request); r.Met {
			t.Errorf("%s is there too early", path)
		}
	}
	if err := os.WriteFile(filepath.Join(table.cfg.Programs.Home, "report.pdf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"~/report.pdf", "../report.pdf", filepath.Join(table.cfg.Programs.Home, "report.pdf")} {
		if r := wait(t, s, fmt.Sprintf(`{"for":"file","path":%q}`, path)); !r.Met {
			t.Errorf("%s is not found", path)
		}
	}
	// The child is asked, which has the rights of the programs' user, and not the daemon.
	r := wait(t, s, fmt.Sprintf(`{"for":"file","path":"/proc/%d","timeout_ms":0}`, os.Getpid()))
	own := wait(t, s, fmt.Sprintf(`{"for":"file","path":"/proc/self/task/%d","timeout_ms":0}`, os.Getpid()))
	if !r.Met || own.Met {
		t.Errorf("/proc/self is the daemon: %v, %v", r.Met, own.Met)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if r := wait(t, s, fmt.Sprintf(`{"for":"port","port":%d,"timeout_ms":0}`, port)); !r.Met {
		t.Error("an open port is not found without a wait")
	}
	if r := wait(t, s, fmt.Sprintf(`{"for":"port","port":%d}`, port)); !r.Met {
		t.Error("an open port is not found")
	}
	l.Close()
	if r := wait(t, s, fmt.Sprintf(`{"for":"port","port":%d,"timeout_ms":1}`, port)); r.Met {
		t.Error("a closed port is found")
	}
}

// Files that do not answer, as on a network disk that hangs, hold no session up.
func TestWaitForAFileThatHangs(t *testing.T) {
	table, _ := newTable(t)
	asked := filepath.Join(t.TempDir(), "asked")
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	table.cfg.Files = files.Runner{Command: []string{"/bin/sh", "-c", "echo >" + asked + "; exec sleep 600"}}
	s := start(t, table, nil)
	answer := make(chan error)
	go func() {
		_, _, err := s.Wait(t.Context(), api.WaitRequest{For: api.WaitFile, Path: "/mnt/x", TimeoutMS: ptr(int64(0))})
		answer <- err
	}()
	if _, err := os.ReadFile(asked); err != nil {
		t.Fatal(err)
	}
	if err := table.End(s.ID()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-answer, api.CodeSessionEnded)
}

func TestWaitRefuses(t *testing.T) {
	table, screens := newTable(t)
	s := start(t, table, nil)
	for _, r := range []api.WaitRequest{
		{For: "ever"},
		{For: "window"},
		{Title: "x"},
		{For: "file", Title: "x"},
		{For: "port", Port: 70000},
		{For: "port"},
		{TimeoutMS: ptr(int64(300_001))},
		{Region: &api.Region{}},
		{For: "file", Path: "x", Region: &api.Region{Width: 1, Height: 1}},
	} {
		_, _, err := s.Wait(t.Context(), r)
		wantCode(t, err, api.CodeBadRequest)
	}
	if len(screens.screens) != 0 {
		t.Error("a screen was opened")
	}
}

// S3-12, S3-14: each value can be set, an empty list clears the regions, and what is wrong
// changes nothing.
func TestConfigure(t *testing.T) {
	withSession(t, func(t *testing.T, s *Session, screen *fakeScreen) {
		got, err := s.Configure(t.Context(), api.ConfigureRequest{
			QuietMS: ptr(int64(300)), ReactMS: ptr(int64(450)), MaxWaitMS: ptr(int64(2000)), ResidualBailMS: ptr(int64(800)),
			IgnoreRegions: &[]api.Region{{X: 0, Y: 0, Width: 64, Height: 64}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.QuietMS != 300 || got.MaxWaitMS != 2000 || got.ReactMS != 450 || got.ResidualBailMS != 800 || len(got.IgnoreRegions) != 1 ||
			!slices.Equal(got.Pinned, []string{"quiet_ms", "react_ms", "max_wait_ms", "residual_bail_ms", "ignore_regions"}) {
			t.Errorf("%+v", got)
		}
		// What is ignored is no reaction, and what is pinned is used.
		reactAfter(screen, 10*time.Millisecond) // inside the ignored region
		result, _ := act(t, s, `{"actions":[{"kind":"click","x":1,"y":1}]}`)
		if result.Steps[0].Verdict != api.VerdictNoReaction || result.Settle.QuietMS != 300 {
			t.Errorf("%+v", result.Steps)
		}
		got, err = s.Configure(t.Context(), api.ConfigureRequest{IgnoreRegions: &[]api.Region{}})
		if err != nil || len(got.IgnoreRegions) != 0 || got.QuietMS != 300 {
			t.Errorf("%+v, %v", got, err)
		}
		for _, r := range []api.ConfigureRequest{
			{QuietMS: ptr(int64(10))},
			{MaxWaitMS: ptr(int64(1 << 60))},
			{ReactMS: ptr(int64(-1))},
			{IgnoreRegions: &[]api.Region{{Width: 0, Height: 1}}},
			{QuietMS: ptr(int64(100)), IgnoreRegions: &[]api.Region{{X: -1, Width: 1, Height: 1}}},
		} {
			_, err := s.Configure(t.Context(), r)
			wantCode(t, err, api.CodeBadRequest)
		}
		if got, _ := s.Configure(t.Context(), api.ConfigureRequest{}); got.QuietMS != 300 {
			t.Errorf("a refused call changed %+v", got)
		}
	})
}

// What nothing announces is looked at once more when the time is up, and what goes wrong then
// is told.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		after := func(d time.Duration, ok bool, err error) func() (bool, error) {
			return func() (bool, error) {
				if time.Since(began) < d {
					return false, nil
				}
				return ok, err
			}
		}
		broken := errors.New("broken")
		for _, c := range []struct {
			limit time.Duration
			met   func() (bool, error)
			want  error
		}{
			{400 * time.Millisecond, after(50*time.Millisecond, true, nil), nil},
			{400 * time.Millisecond, after(time.Second, true, nil), context.DeadlineExceeded},
			{400 * time.Millisecond, after(50*time.Millisecond, false, broken), broken},
			{0, after(0, false, broken), broken},
			{0, after(0, true, nil), nil},
		} {
			began = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			if err := every(ctx, 500*time.Millisecond, c.met); err != c.want || time.Since(began) > c.limit {
				t.Errorf("%v after %v, want %v", err, time.Since(began), c.want)
			}
			cancel()
		}
	})
}
