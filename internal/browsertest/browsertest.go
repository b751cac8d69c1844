// Package browsertest drives a headless Chromium in tests.
package browsertest

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// Tab is a page in a real browser. What goes wrong in it, such as an uncaught exception or
// a message on its console, fails the test.
type Tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // what the browser complained about; guarded by mu
}

// Start starts a headless Chromium with one tab. It ends with the test.
func Start(t *testing.T) *Tab {
	t.Helper()
	xvfbtest.Need(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	return newTab(t, allocator)
}

// newTab opens a tab.
func newTab(t *testing.T, parent context.Context) *Tab {
	b := &Tab{t: t}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(parent, chromedp.WithListener(b.note))
	t.Cleanup(cancel)
	// The browser lives as long as the context of the first run, so that has no timeout.
	if err := chromedp.Do(b.ctx, send(log.Enable, cdp.Empty{}), send(runtime.Enable, cdp.Empty{}), resize(1280, 800),
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

func (b *Tab) note(event any) {
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

// Forgive forgets complaints that a test has provoked.
func (b *Tab) Forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = nil
}

// timeout bounds everything that is asked of the browser.
const timeout = 30 * time.Second

// send is an action that sends a command of the DevTools protocol.
func send[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, command, params)
		return chromedp.Void{}, err
	}
}

// do runs actions, which must come to their end in time.
func (b *Tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Save("failure")
		b.t.Fatalf("browser: %v", err)
	}
}

// Open goes to an address.
func (b *Tab) Open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// Eval returns what a JavaScript expression, or its promise, comes to.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Save("failure")
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
	return value
}

// Run runs a JavaScript statement, with the page's policy out of force.
func (b *Tab) Run(statement string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](statement))
}

// Until waits until a JavaScript expression is true. The page itself looks.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	if !Eval[bool](b, fmt.Sprintf(`new Promise((resolve) => {
		const end = Date.now() + 15000;
		const look = () => {
			let ok = false;
			try { ok = Boolean(%s); } catch {}
			if (ok || Date.now() > end) resolve(ok);
			else setTimeout(look, 10);
		};
		look();
	})`, expression)) {
		b.Save("failure")
		b.t.Fatalf("never true: %s", expression)
	}
}

// UntilShows waits until a canvas shows exactly a picture of pixels 0x00RRGGBB, which is
// asked for again and again, for it may change meanwhile.
func (b *Tab) UntilShows(canvas string, picture func() []uint32) {
	b.t.Helper()
	hash := fmt.Sprintf(`(() => {
		const canvas = document.querySelector(%q);
		if (!canvas?.width) return 0;
		const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
		let hash = 0x811c9dc5;
		for (let i = 0; i < data.length; i++) if (i %% 4 !== 3) hash = Math.imul(hash ^ data[i], 0x01000193);
		return hash >>> 0;
	})()`, canvas)
	for end := time.Now().Add(timeout); time.Now().Before(end); {
		want := fnv.New32a()
		for _, p := range picture() {
			want.Write([]byte{byte(p >> 16), byte(p >> 8), byte(p)})
		}
		if Eval[uint32](b, hash) == want.Sum32() {
			return
		}
	}
	b.Save("failure")
	b.t.Fatalf("%s does not come to show the picture", canvas)
}

// Text returns what an element, the first that matches, shows.
func (b *Tab) Text(selector string) string {
	b.t.Helper()
	return Eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// Resize gives the page a size in pixels. It begins with 1280x800.
func (b *Tab) Resize(width, height int64) {
	b.t.Helper()
	b.do(resize(width, height))
}

func resize(width, height int64) chromedp.Action[chromedp.Void] {
	return send(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// Touch makes the page believe that it is on a touch screen.
func (b *Tab) Touch() {
	b.t.Helper()
	b.do(send(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}),
		send(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 740, DeviceScaleFactor: 2, Mobile: true}))
}

// Colours chooses the colour scheme, light or dark.
func (b *Tab) Colours(scheme string) {
	b.t.Helper()
	b.do(send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// Save keeps a picture of the tab among the test's artifacts.
func (b *Tab) Save(name string) {
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	if picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), picture, 0o600)
	}
}

// Permit makes a permission of an origin granted, denied or prompt.
func (b *Tab) Permit(origin, name, setting string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	_, err := cdp.Call(ctx, chromedp.FromContext(b.ctx).Browser, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSetting(setting), Origin: origin,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
