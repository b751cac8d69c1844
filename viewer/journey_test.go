package viewer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/internal/browsertest"
)

// entered waits until a screen's picture is there.
func (b *tab) entered() {
	b.t.Helper()
	b.Until("document.querySelector('#waiting').hidden && document.querySelector('#stage canvas').width > 0")
}

func (b *tab) unlock() {
	b.t.Helper()
	b.Click("#lock")
	b.Until("document.querySelector('#screen').hasAttribute('data-mine')")
}

// wantPicture waits until the canvas shows exactly what is in a buffer.
func (b *tab) wantPicture(buffer *frame.Buffer) {
	b.t.Helper()
	b.UntilShows("#stage canvas", func() (pix []uint32) {
		buffer.Read(func(v frame.View) { pix = slices.Clone(v.Pix) })
		return pix
	})
}

// wantTyped reads what reached the screen, which must be exactly this.
func wantTyped(t *testing.T, seat *fakeSeat, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-seat.typed:
			if got != w {
				t.Fatalf("the screen got %q, want %q", got, w)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("the screen did not get %q", w)
		}
	}
}

// wantPasted waits for the text of a paste.
func wantPasted(t *testing.T, seat *fakeSeat, want string) {
	t.Helper()
	select {
	case got := <-seat.pasted:
		if got != want {
			t.Errorf("pasted %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was pasted")
	}
}

func TestFromTheLinkToTheScreen(t *testing.T) {
	const start = "2026-11-30T13:37:00Z"
	began, err := time.Parse(time.RFC3339, start)
	if err != nil {
		t.Fatal(err)
	}
	c := newRFBComputer(Session{ID: "a", Title: "First task", Screen: 3, StartedAt: began, Viewers: 2})
	paint(c.Frame(3), 0x2d6a4f)
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey)

	// S0-172, S0-228: the link works by itself. The key leaves the address and stays with the browser.
	b.Until("document.querySelector('#link').dataset.state === 'live'")
	if hash := browsertest.Eval[string](b.Tab, "location.href"); strings.Contains(hash, testKey) {
		t.Errorf("the key is still in the address %s", hash)
	}
	if kept := browsertest.Eval[string](b.Tab, "Object.values(localStorage).join()"); kept != testKey {
		t.Errorf("the browser keeps %q", kept)
	}

	// S0-161, S0-162: the list says what there is and follows the sessions.
	b.Until("document.querySelectorAll('#list li').length === 1")
	entry := b.Text("#list")
	clock := browsertest.Eval[string](b.Tab, "new Date('"+start+"').toLocaleTimeString([], {hour: 'numeric', minute: '2-digit'})")
	for _, want := range []string{"3", "First task", "2 viewers", clock} {
		if !strings.Contains(entry, want) {
			t.Errorf("the list says %q, without %q", entry, want)
		}
	}
	c.open(Session{ID: "b", Title: "<b>Second</b> task", Screen: 4})
	b.Until("document.querySelectorAll('#list li').length === 2 && document.querySelectorAll('#grid li').length === 2")
	if entry := b.Text("#list li:last-child"); !strings.Contains(entry, "<b>Second</b> task") {
		t.Errorf("the list says %q", entry)
	}
	c.change(func() { c.sessions = c.sessions[:1] })
	b.Until("document.querySelectorAll('#list li').length === 1 && document.querySelectorAll('#grid li').length === 1")

	// S0-163, S0-164: into the screen; it begins locked and shows what there is.
	b.Click(".card")
	b.entered()
	b.wantPicture(c.Frame(3))
	if got := browsertest.Eval[string](b.Tab, "location.hash"); got != "#screen=3" {
		t.Errorf("the address ends in %q", got)
	}
	bar := b.Text(".bar")
	for _, want := range []string{"3", "First task", "640 × 400", "Unlock"} {
		if !strings.Contains(bar, want) {
			t.Errorf("the bar says %q, without %q", bar, want)
		}
	}
	seat := c.lastSeat()
	b.Click("#stage canvas")
	b.Press("x", "KeyX", 0)
	if said := b.Text("#notice"); !strings.Contains(said, "locked") {
		t.Errorf("after a click on the locked screen the page says %q", said)
	}

	// S0-165, S1-48: unlocked, keys and clicks get there; nothing of what came before has.
	b.unlock()
	b.Press("a", "KeyA", 0)
	wantTyped(t, seat, "key 0x61 true", "key 0x61 false")
	b.Click("#stage canvas")
	wantTyped(t, seat, "button 1 true", "button 1 false")
	// The character that AltGr makes comes as itself (novnc/noVNC#1928).
	b.Press("AltGraph", "AltRight", 0)
	b.Press("@", "KeyQ", 0)
	wantTyped(t, seat, "key 0xfe03 true", "key 0xfe03 false", "key 0x40 true", "key 0x40 false")
	paint(c.Frame(3), 0x5a3f7a)
	b.wantPicture(c.Frame(3))

	// Locked again, nothing does.
	b.Click("#lock")
	b.Until("!document.querySelector('#screen').hasAttribute('data-mine')")
	wantTyped(t, seat, "released")
	b.Press("b", "KeyB", 0)
	b.Click("#stage canvas")

	// S0-173: the deep link works by itself.
	b.Resize(1000, 700)
	b.visit(s, "/?#screen=3")
	b.entered()
	b.wantPicture(c.Frame(3))
	select {
	case got := <-seat.typed:
		if got != "released" { // at the end of the connection
			t.Errorf("the locked screen got %q", got)
		}
	default:
	}
	b.Click("#back")
	b.Until("!document.querySelector('#overview').hidden")
}

func TestAWrongKeyIsAskedForAgain(t *testing.T) {
	s := serve(t, newRFBComputer())
	b := startBrowser(t)
	b.visit(s, "/")
	b.Until("document.querySelector('#key').open")
	b.Insert("wrong")
	b.Press("Enter", "Enter", 0)
	b.Until("document.querySelector('#key').open && document.querySelector('#key-why').innerText.includes('wrong')")
	b.Insert(testKey)
	b.Press("Enter", "Enter", 0)
	b.Until("!document.querySelector('#key').open && document.querySelector('#link').dataset.state === 'live'")
	if said := b.Text("#empty"); !strings.Contains(said, "No agent") {
		t.Errorf("without sessions the page says %q", said)
	}
}

func TestClipboard(t *testing.T) {
	const text = "をゆ 测试 Привет €\nsecond line 👋"
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey+"&screen=3")
	b.Permit("http://"+s.addr, "clipboard-read", "granted")
	b.Permit("http://"+s.addr, "clipboard-write", "granted")
	b.entered()

	// S0-169: locked, nothing moves.
	browsertest.Eval[any](b.Tab, fmt.Sprintf("navigator.clipboard.writeText(%q)", text))
	b.Run("document.querySelector('#stage canvas').focus()")
	b.Press("v", "KeyV", browsertest.Ctrl, "paste")
	c.screen(3).SetClipboard("not yet")

	// S0-167: unlocked, a paste there is one of what is on the clipboard here.
	b.unlock()
	seat := c.lastSeat()
	b.Key("keyDown", "Control", "ControlLeft", browsertest.Ctrl)
	b.Press("v", "KeyV", browsertest.Ctrl, "paste")
	wantPasted(t, seat, text)
	// The press follows the text.
	wantTyped(t, seat, "key 0xffe3 true", "key 0x76 true", "key 0x76 false")
	b.Key("keyUp", "Control", "ControlLeft", 0)
	wantTyped(t, seat, "key 0xffe3 false")
	if got := browsertest.Eval[string](b.Tab, "navigator.clipboard.readText()"); got != text {
		t.Errorf("the clipboard holds %q", got)
	}
	if len(seat.pasted) > 0 {
		t.Error("the paste on the locked screen came through as well")
	}

	// With Cmd it is Ctrl there, and nothing of Cmd stays pressed.
	b.Key("keyDown", "Meta", "MetaLeft", browsertest.Cmd)
	b.Press("v", "KeyV", browsertest.Cmd, "paste")
	wantPasted(t, seat, text)
	b.Key("keyUp", "Meta", "MetaLeft", 0)
	wantTyped(t, seat, "key 0xffec true", "key 0xffec false", "key 0xffe3 true", "key 0x76 true", "key 0x76 false", "key 0xffe3 false")

	// S0-168: what is copied there comes here.
	c.screen(3).SetClipboard("copied there: " + text)
	b.Until("navigator.clipboard && document.querySelector('#notice').innerText.includes('Copied')")
	if got := browsertest.Eval[string](b.Tab, "navigator.clipboard.readText()"); got != "copied there: "+text {
		t.Errorf("the clipboard holds %q", got)
	}

	// S0-170: refused by the browser, the page says so and offers what a click may do.
	b.Permit("http://"+s.addr, "clipboard-write", "denied")
	c.screen(3).SetClipboard("again")
	b.Until("!document.querySelector('#notice-action').hidden")
	if said := b.Text("#notice"); !strings.Contains(said, "does not let") {
		t.Errorf("the page says %q", said)
	}
	b.Permit("http://"+s.addr, "clipboard-write", "granted")
	b.Click("#notice-action")
	b.Until("document.querySelector('#notice').innerText.includes('Copied')")
	if got := browsertest.Eval[string](b.Tab, "navigator.clipboard.readText()"); got != "again" {
		t.Errorf("the clipboard holds %q", got)
	}
}

// A phone's keyboard names no keys: its text gets to the screen by way of a field.
func TestTypingOnAPhone(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.Touch()
	b.visit(s, "/#key="+testKey+"&screen=3")
	b.entered()
	if browsertest.Eval[bool](b.Tab, "document.querySelector('#type').checkVisibility()") {
		t.Error("typing is offered on a locked screen")
	}
	b.unlock()
	b.Click("#type")
	b.Until("document.activeElement.id === 'typing'")
	b.Insert("é€")
	b.Press("Enter", "Enter", 0)
	b.Save("typing")
	wantTyped(t, c.lastSeat(), "key 0xe9 true", "key 0xe9 false", "key 0x10020ac true", "key 0x10020ac false", "key 0xff0d true", "key 0xff0d false")
	b.Click("#lock")
	b.Until("!document.querySelector('#typing').checkVisibility()")
}

func TestWhoIsReplacedIsTold(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey+"&screen=3")
	b.entered()
	b.unlock()
	seat := c.lastSeat()
	seat.setMine(false, "Another page took control.")
	b.Until("!document.querySelector('#screen').hasAttribute('data-mine')")
	if said := b.Text("#notice"); said != "Another page took control." {
		t.Errorf("the page says %q", said)
	}

	// Keys of a person who has not seen it yet do nothing, and do not take control back.
	b.Run("document.querySelector('#lock').addEventListener('click', () => (window.clicked = true))")
	b.enter()
	b.Press(" ", "Space", 0)
	if browsertest.Eval[bool](b.Tab, "window.clicked === true") || seat.isMine() {
		t.Error("a key took control back")
	}
	if focused := browsertest.Eval[string](b.Tab, "document.activeElement.id"); focused != "screen-title" {
		t.Errorf("the focus went to %q", focused)
	}
	b.Press("Tab", "Tab", 0)
	if focused := browsertest.Eval[string](b.Tab, "document.activeElement.id"); focused != "lock" {
		t.Errorf("from there Tab leads to %q", focused)
	}

	// What was said goes with the other's control, and with the session.
	for _, over := range []func(*Session){
		func(s *Session) { s.Control = Control{By: "nobody"} },
		func(s *Session) { s.State = Ended },
	} {
		mine := time.Now()
		c.edit(3, func(s *Session) { s.Control = Control{By: "human", Name: "A page", Since: mine} })
		b.Until("document.querySelector('#facts').innerText.includes('A page has control')")
		b.unlock()
		c.edit(3, func(s *Session) { s.Viewers++ }) // the page hears whose control it is
		b.Until(fmt.Sprintf("document.querySelector('#facts').innerText.includes('%d viewer')", c.sessions[0].Viewers))
		c.edit(3, func(s *Session) { s.Control = Control{By: "human", Name: "A page", Since: mine.Add(time.Second)} })
		c.lastSeat().setMine(false, "Another page took control.")
		b.Until("document.querySelector('#notice-text').textContent === 'Another page took control.'")
		c.edit(3, func(s *Session) { s.Viewers++ }) // a list from before says nothing of them
		b.Until(fmt.Sprintf("document.querySelector('#facts').innerText.includes('%d viewer')", c.sessions[0].Viewers))
		if said := b.Text("#notice"); said != "Another page took control." {
			t.Errorf("while they have control the page says %q", said)
		}
		c.edit(3, over)
		b.Until("document.querySelector('#notice-text').textContent === ''")
		c.edit(3, func(s *Session) { s.State = Live })
		b.Until("!document.querySelector('#lock').disabled")
	}

	// With control again, nothing says that it is lost.
	b.unlock()
	if said := b.Text("#notice"); said != "" {
		t.Errorf("the unlocked page says %q", said)
	}
}

func TestTheAgentAsksForAPerson(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3}, Session{ID: "b", Title: "other", Screen: 4})
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey)
	b.Until("document.querySelectorAll('.card').length === 2")
	request := &Request{Reason: "A code from your phone", At: time.Now()}
	c.edit(3, func(s *Session) { s.Request = request })
	b.Until("document.querySelector('.card[data-needs]') && document.title.includes('needs you')")
	for _, place := range []string{".card[data-needs]", "#list li:first-child"} {
		if said := b.Text(place); !strings.Contains(said, "A code from your phone") {
			t.Errorf("%s says %q", place, said)
		}
	}
	for i, answer := range []string{"#request-done", "#request-decline"} {
		c.edit(3, func(s *Session) { s.Request = request })
		b.visit(s, fmt.Sprintf("/?%d#screen=3", i))
		b.entered()
		b.Until("!document.querySelector('#request').hidden")
		b.unlock()
		b.Click(answer)
		b.Until("document.querySelector('#request').hidden && !document.querySelector('#screen').hasAttribute('data-mine')")
	}
	if got := strings.Join(c.answers, ", "); got != "3 handed_back, 3 declined" {
		t.Errorf("answers %s", got)
	}
}

// Issue 5, item 5: a browser notification is raised when the person allows them and looks
// elsewhere, once for each request, and leads to the screen.
func TestANotificationWhenTheAgentAsks(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.Permit("http://"+s.addr, "notifications", "prompt")
	b.visit(s, "/#key="+testKey)
	b.Until("!document.querySelector('#notify').hidden")
	b.Permit("http://"+s.addr, "notifications", "granted")
	b.Click("#notify")
	b.Until("document.querySelector('#notify').hidden && Notification.permission === 'granted'")

	b.Run(`window.raised = [];
		window.Notification = class extends Notification {
			constructor(...args) { super(...args); raised.push(this); }
		}`)
	ask := func(reason string) {
		c.edit(3, func(s *Session) { s.Request = &Request{Reason: reason, At: time.Now()} })
		b.Until(fmt.Sprintf("document.querySelector('.card[data-needs]')?.innerText.includes(%q)", reason))
	}
	ask("while the person looks at the page")
	b.Run("document.hasFocus = () => false")
	ask("A code from your phone")
	c.edit(3, func(s *Session) { s.Viewers = 1 }) // the same request again
	b.Until("document.querySelector('.card').innerText.includes('1 viewer')")
	got := browsertest.Eval[string](b.Tab, "raised.map((n) => `${n.title} | ${n.body}`).join()")
	if want := "An agent needs you | task: A code from your phone"; got != want {
		t.Errorf("raised %q, want %q", got, want)
	}
	b.Run("raised[0].dispatchEvent(new Event('click'))")
	b.entered()
}

func TestTheEndOfASession(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey+"&screen=3")
	b.entered()
	c.edit(3, func(s *Session) { s.State = Restarting })
	b.Until("document.querySelector('#fate').innerText.startsWith('The screen is starting again.')")
	b.unlock()
	c.edit(3, func(s *Session) { s.State = Ended })
	b.Until("document.querySelector('#fate').innerText === 'Session ended, screen closes when you leave.'")
	// Whoever works there may go on and hand back, but not come again.
	b.Click("#lock")
	b.Until("!document.querySelector('#screen').hasAttribute('data-mine') && document.querySelector('#lock').disabled")
	b.Click("#stage")
	if said := b.Text("#notice"); strings.Contains(said, "Unlock") {
		t.Errorf("the page says %q on a screen that cannot be unlocked", said)
	}
	c.change(func() { c.sessions = nil })
	b.Until("document.querySelector('#screen-name').innerText === 'This screen is not open' && document.querySelector('#lock').disabled")
}

func TestThePageConnectsAgain(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	paint(c.Frame(3), 0x2d6a4f)
	s := serve(t, c)
	b := startBrowser(t)
	b.visit(s, "/#key="+testKey+"&screen=3")
	b.entered()
	b.unlock()
	b.Press("a", "KeyA", 0)

	// The computer goes and comes back on the same port.
	s.stop()
	b.Until("document.querySelector('#link').dataset.state === 'lost'")
	if b.Text("#waiting") == "" {
		t.Error("the page does not say that the picture is gone")
	}
	paint(c.Frame(3), 0x7a4a2f)
	serveAt(t, c, s.addr)
	b.Until("document.querySelector('#link').dataset.state === 'live'")
	b.entered()
	b.wantPicture(c.Frame(3))
	if browsertest.Eval[bool](b.Tab, "document.querySelector('#screen').hasAttribute('data-mine')") {
		t.Error("the screen is unlocked without anybody having asked")
	}
	b.Forgive() // connections were refused meanwhile
}

func TestAGridOfSixteen(t *testing.T) {
	c := newRFBComputer()
	for i := range 16 {
		c.open(Session{ID: fmt.Sprint(i), Title: fmt.Sprintf("Task %d", i), Screen: i + 1, Width: 1280, Height: 800})
		paint(c.Frame(i+1), uint32(i*0x0a1020))
	}
	s := serve(t, c)
	b := startBrowser(t)
	b.Resize(2560, 1440)
	b.visit(s, "/#key="+testKey)
	b.Until("document.querySelectorAll('.shot img:not([hidden])').length === 16")
	b.Save("grid-of-16")
	// Only what can be seen is asked for.
	b.Resize(360, 600)
	b.visit(s, "/")
	b.Until("document.querySelectorAll('.shot img:not([hidden])').length >= 1")
	if n := browsertest.Eval[int](b.Tab, "document.querySelectorAll('.shot img:not([hidden])').length"); n > 4 {
		t.Errorf("%d pictures were sent to a small window", n)
	}
	b.Run("document.querySelector('.card[data-screen=\"16\"]').scrollIntoView()")
	b.Until("document.querySelector('.card[data-screen=\"16\"] img:not([hidden])')")
}

// Issue 5: from the link to the first frame it takes less than a second. The best of a few
// loads counts, each from an address of which the browser has nothing yet: what else the
// machine does is not the page's fault.
func TestThePageIsThereWithinASecond(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	paint(c.Frame(3), 0x2d6a4f)
	b := startBrowser(t)
	best := math.Inf(1)
	for range 8 {
		b.visit(serve(t, c), "/#key="+testKey+"&screen=3")
		took := browsertest.Eval[float64](b.Tab, `new Promise((resolve) => {
			const look = () => {
				const canvas = document.querySelector('#stage canvas');
				if (canvas?.width && canvas.getContext('2d').getImageData(0, 0, 1, 1).data[1] === 0x6a) resolve(performance.now());
				else setTimeout(look, 2);
			};
			look();
		})`)
		t.Logf("first frame after %.0f ms", took)
		if best = min(best, took); best < 1000 {
			return
		}
	}
	t.Errorf("the first frame came after %.0f ms at best", best)
}
