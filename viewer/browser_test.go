package viewer

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
	"github.com/falleng0d/computer-use-mcp/rfb"
)

// rfbComputer is a fakeComputer whose seats speak real RFB.
type rfbComputer struct {
	*fakeComputer
	mu      sync.Mutex
	screens map[int]*rfb.Screen // guarded by mu
}

func newRFBComputer(sessions ...Session) *rfbComputer {
	c := &rfbComputer{fakeComputer: newFakeComputer(sessions...), screens: make(map[int]*rfb.Screen)}
	c.newSeat = func(s *fakeSeat) Seat {
		seat := &rfbSeat{fakeSeat: s, screen: c.screen(s.screen)}
		return seat
	}
	return c
}

func (c *rfbComputer) screen(number int) *rfb.Screen {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.screens[number] == nil {
		c.screens[number] = rfb.NewScreen(c.frames[number], fmt.Sprintf("screen %d", number))
	}
	return c.screens[number]
}

// rfbSeat is a seat at an rfb.Screen whose input is written down.
type rfbSeat struct {
	*fakeSeat
	screen *rfb.Screen
	conn   *rfb.Conn
}

func (s *rfbSeat) Serve(ctx context.Context, rwc io.ReadWriteCloser) error {
	s.fakeSeat.mu.Lock()
	s.conn = rfb.NewConn(rwc, rfb.Config{Screen: s.screen, NoAuth: true, Input: inputLog{s.typed}})
	s.fakeSeat.mu.Unlock()
	return s.conn.Run(ctx)
}

func (s *rfbSeat) TakeControl(context.Context) error {
	s.conn.SetRole(rfb.Controller)
	s.setMine(true, "")
	return nil
}

func (s *rfbSeat) HandBack() {
	s.conn.SetRole(rfb.Viewer)
	s.setMine(false, "")
}

// inputLog is an rfb.Input that writes down what comes.
type inputLog struct{ typed chan string }

func (i inputLog) put(format string, args ...any) error {
	select {
	case i.typed <- fmt.Sprintf(format, args...):
	default: // a test that does not read
	}
	return nil
}

func (i inputLog) Key(keysym uint32, down bool) error { return i.put("key %#x %v", keysym, down) }
func (i inputLog) Keycode(code byte, down bool) error { return i.put("code %d %v", code, down) }
func (i inputLog) Move(x, y int) error                { return nil }
func (i inputLog) Button(button int, down bool) error { return i.put("button %d %v", button, down) }
func (i inputLog) Release(context.Context) error      { return i.put("released") }

// tab is a page in a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // what the browser complained about; guarded by mu
}

// startBrowser starts a headless Chromium with one tab.
func startBrowser(t *testing.T) *tab {
	t.Helper()
	xvfbtest.Need(t, "chromium")
	if !New(Config{}).Complete() {
		t.Skip("SKIPPED: noVNC is missing: run scripts/fetch-novnc")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	return newTab(t, allocator)
}

// newTab opens a tab. Whatever the browser complains about in it fails the test.
func newTab(t *testing.T, parent context.Context) *tab {
	b := &tab{t: t}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(parent, chromedp.WithListener(b.note))
	t.Cleanup(cancel)
	// The browser lives as long as the context of the first run, so that has no timeout.
	if err := chromedp.Do(b.ctx, send(log.Enable, cdp.Empty{}), send(runtime.Enable, cdp.Empty{}), size(1280, 800),
		send(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Errorf("the browser complains: %s", p)
		}
	})
	return b
}

// another opens a further tab of the same browser.
func (b *tab) another() *tab { return newTab(b.t, b.ctx) }

func (b *tab) note(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprint(e.ExceptionDetails)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			problem = string(e.Args[0].Value)
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// forgive forgets complaints that a test has provoked.
func (b *tab) forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = nil
}

const browserTimeout = 30 * time.Second

// send is an action that sends a command of the DevTools protocol.
func send[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, command, params)
		return chromedp.Void{}, err
	}
}

// do runs actions, which must come to their end within browserTimeout.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.save("failure")
		b.t.Fatalf("browser: %v", err)
	}
}

// open goes to an address below the server's.
func (b *tab) open(s served, path string) {
	b.t.Helper()
	b.do(chromedp.Navigate("http://" + s.addr + path))
}

// eval returns what a JavaScript expression, or its promise, comes to.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.save("failure")
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
	return value
}

// until waits until a JavaScript expression is true. The page itself looks.
func (b *tab) until(expression string) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`new Promise((resolve) => {
		const end = Date.now() + 15000;
		const look = () => {
			let ok = false;
			try { ok = Boolean(%s); } catch {}
			if (ok || Date.now() > end) resolve(ok);
			else setTimeout(look, 10);
		};
		look();
	})`, expression)) {
		b.save("failure")
		b.t.Fatalf("never true: %s", expression)
	}
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(selector, chromedp.NodeVisible))
}

func typeText(text string) chromedp.Action[chromedp.Void] {
	return send(input.InsertText, input.InsertTextParams{Text: text})
}

func focus(selector string) chromedp.Action[chromedp.Void] {
	return evaluate(fmt.Sprintf("document.querySelector(%q).focus()", selector))
}

func evaluate(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](expression)
}

// Modifiers of press, a set.
const (
	alt   = 1
	ctrl  = 2
	shift = 8
)

// key sends one event of a keyboard, keyDown or keyUp.
func (b *tab) key(kind, key, code string, modifiers int64) {
	b.t.Helper()
	b.do(send(input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventType(kind), Key: key, Code: code, Modifiers: modifiers, WindowsVirtualKeyCode: virtualKeys[key],
	}))
}

// press presses and releases a key as a keyboard does, with modifiers held. Commands are
// what the browser does by itself at that key.
func (b *tab) press(key, code string, modifiers int64, commands ...string) {
	b.t.Helper()
	down := input.DispatchKeyEventParams{
		Type: "rawKeyDown", Key: key, Code: code, Modifiers: modifiers, Commands: commands, WindowsVirtualKeyCode: virtualKeys[key],
	}
	if len(key) == 1 {
		down.WindowsVirtualKeyCode = int64(strings.ToUpper(key)[0])
	}
	up := down
	up.Type, up.Commands = "keyUp", nil
	if text := map[string]string{"Enter": "\r", " ": " "}[key]; text != "" {
		down.Type, down.Text = "keyDown", text
	}
	b.do(send(input.DispatchKeyEvent, down), send(input.DispatchKeyEvent, up))
}

var virtualKeys = map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, "Home": 36, "AltGraph": 225, "Control": 17}

func size(width, height int64) chromedp.Action[chromedp.Void] {
	return send(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// save keeps a picture of the tab among the test's artifacts.
func (b *tab) save(name string) {
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	if picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), picture, 0o600)
	}
}

// permit grants or denies the page's origin a permission.
func (b *tab) permit(s served, name, setting string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	_, err := cdp.Call(ctx, chromedp.FromContext(b.ctx).Browser, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSetting(setting), Origin: "http://" + s.addr,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
