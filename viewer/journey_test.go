package viewer

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
)

// entered waits until a screen's picture is there.
func (b *tab) entered() {
	b.t.Helper()
	b.until("document.querySelector('#waiting').hidden && document.querySelector('#stage canvas').width > 0")
}

func (b *tab) unlock() {
	b.t.Helper()
	b.click("#lock")
	b.until("document.querySelector('#screen').hasAttribute('data-mine')")
}

// wantPicture waits until the canvas shows exactly what is in a buffer.
func (b *tab) wantPicture(buffer *frame.Buffer) {
	b.t.Helper()
	hash := fnv.New32a()
	buffer.Read(func(v frame.View) {
		for _, p := range v.Pix {
			var px [4]byte
			binary.LittleEndian.PutUint32(px[:], p)
			hash.Write([]byte{px[2], px[1], px[0]})
		}
	})
	b.until(fmt.Sprintf(`(() => {
		const canvas = document.querySelector('#stage canvas');
		const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
		let hash = 0x811c9dc5;
		for (let i = 0; i < data.length; i++) if (i %% 4 !== 3) hash = Math.imul(hash ^ data[i], 0x01000193);
		return (hash >>> 0) === %d;
	})()`, hash.Sum32()))
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

func TestFromTheLinkToTheScreen(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "First task", Screen: 3, StartedAt: time.Now(), Viewers: 2})
	paint(c.Frame(3), 0x2d6a4f)
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey)

	// The key leaves the address and stays with the browser.
	b.until("document.querySelector('#link').dataset.state === 'live'")
	if hash := eval[string](b, "location.href"); strings.Contains(hash, testKey) {
		t.Errorf("the key is still in the address %s", hash)
	}
	if kept := eval[string](b, "Object.values(localStorage).join()"); kept != testKey {
		t.Errorf("the browser keeps %q", kept)
	}

	// The list follows the sessions.
	b.until("document.querySelectorAll('#list li').length === 1")
	entry := b.text("#list")
	for _, want := range []string{"3", "First task", "2 viewers"} {
		if !strings.Contains(entry, want) {
			t.Errorf("the list says %q, without %q", entry, want)
		}
	}
	c.open(Session{ID: "b", Title: "<b>Second</b> task", Screen: 4})
	b.until("document.querySelectorAll('#list li').length === 2 && document.querySelectorAll('#grid li').length === 2")
	if entry := b.text("#list li:last-child"); !strings.Contains(entry, "<b>Second</b> task") {
		t.Errorf("the list says %q", entry)
	}
	c.change(func() { c.sessions = c.sessions[:1] })
	b.until("document.querySelectorAll('#list li').length === 1 && document.querySelectorAll('#grid li').length === 1")

	// Into the screen; it begins locked and shows what there is.
	b.click(".card")
	b.entered()
	b.wantPicture(c.Frame(3))
	if got := eval[string](b, "location.hash"); got != "#screen=3" {
		t.Errorf("the address ends in %q", got)
	}
	bar := b.text(".bar")
	for _, want := range []string{"3", "First task", "640 × 400", "Unlock"} {
		if !strings.Contains(bar, want) {
			t.Errorf("the bar says %q, without %q", bar, want)
		}
	}
	seat := c.lastSeat()
	b.click("#stage canvas")
	b.press("x", "KeyX", 0)
	if said := b.text("#notice"); !strings.Contains(said, "locked") {
		t.Errorf("after a click on the locked screen the page says %q", said)
	}

	// Unlocked, keys and clicks get there; nothing of what came before has.
	b.unlock()
	b.press("a", "KeyA", 0)
	wantTyped(t, seat, "key 0x61 true", "key 0x61 false")
	b.click("#stage canvas")
	wantTyped(t, seat, "button 1 true", "button 1 false")
	// The character that AltGr makes comes as itself (novnc/noVNC#1928).
	b.press("AltGraph", "AltRight", 0)
	b.press("@", "KeyQ", 0)
	wantTyped(t, seat, "key 0xfe03 true", "key 0xfe03 false", "key 0x40 true", "key 0x40 false")
	paint(c.Frame(3), 0x5a3f7a)
	b.wantPicture(c.Frame(3))

	// Locked again, nothing does.
	b.click("#lock")
	b.until("!document.querySelector('#screen').hasAttribute('data-mine')")
	wantTyped(t, seat, "released")
	b.press("b", "KeyB", 0)
	b.click("#stage canvas")

	// The deep link works by itself.
	b.do(size(1000, 700))
	b.open(s, "/?#screen=3")
	b.entered()
	b.wantPicture(c.Frame(3))
	select {
	case got := <-seat.typed:
		if got != "released" { // at the end of the connection
			t.Errorf("the locked screen got %q", got)
		}
	default:
	}
	b.click("#back")
	b.until("!document.querySelector('#overview').hidden")
}

func TestAWrongKeyIsAskedForAgain(t *testing.T) {
	s := serve(t, newRFBComputer())
	b := startBrowser(t)
	b.open(s, "/")
	b.until("document.querySelector('#key').open")
	b.do(typeText("wrong"))
	b.press("Enter", "Enter", 0)
	b.until("document.querySelector('#key').open && document.querySelector('#key-why').innerText.includes('wrong')")
	b.do(typeText(testKey))
	b.press("Enter", "Enter", 0)
	b.until("!document.querySelector('#key').open && document.querySelector('#link').dataset.state === 'live'")
	if said := b.text("#empty"); !strings.Contains(said, "No agent") {
		t.Errorf("without sessions the page says %q", said)
	}
}

func TestClipboard(t *testing.T) {
	const text = "をゆ 测试 Привет €\nsecond line 👋"
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey+"&screen=3")
	b.permit(s, "clipboard-read", "granted")
	b.permit(s, "clipboard-write", "granted")
	b.entered()

	// Locked, nothing moves.
	eval[any](b, fmt.Sprintf("navigator.clipboard.writeText(%q)", text))
	b.do(focus("#stage canvas"))
	b.press("v", "KeyV", ctrl, "paste")
	c.screen(3).SetClipboard("not yet")

	b.unlock()
	seat := c.lastSeat()
	b.key("keyDown", "Control", "ControlLeft", ctrl)
	b.press("v", "KeyV", ctrl, "paste")
	select {
	case got := <-seat.pasted:
		if got != text {
			t.Errorf("pasted %q, want %q", got, text)
		}
	case <-time.After(10 * time.Second):
		b.save("failure")
		t.Fatal("nothing was pasted")
	}
	// The press follows the text.
	wantTyped(t, seat, "key 0xffe3 true", "key 0x76 true", "key 0x76 false")
	b.key("keyUp", "Control", "ControlLeft", 0)
	wantTyped(t, seat, "key 0xffe3 false")
	if got := eval[string](b, "navigator.clipboard.readText()"); got != text {
		t.Errorf("the clipboard holds %q", got)
	}

	c.screen(3).SetClipboard("copied there: " + text)
	b.until("navigator.clipboard && document.querySelector('#notice').innerText.includes('Copied')")
	if got := eval[string](b, "navigator.clipboard.readText()"); got != "copied there: "+text {
		t.Errorf("the clipboard holds %q", got)
	}

	// Refused by the browser, the page says so and offers what a click may do.
	b.permit(s, "clipboard-write", "denied")
	c.screen(3).SetClipboard("again")
	b.until("!document.querySelector('#notice-action').hidden")
	if said := b.text("#notice"); !strings.Contains(said, "does not let") {
		t.Errorf("the page says %q", said)
	}
	b.permit(s, "clipboard-write", "granted")
	b.click("#notice-action")
	b.until("document.querySelector('#notice').innerText.includes('Copied')")
	if got := eval[string](b, "navigator.clipboard.readText()"); got != "again" {
		t.Errorf("the clipboard holds %q", got)
	}
}

func TestWhoIsReplacedIsTold(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey+"&screen=3")
	b.entered()
	b.unlock()
	seat := c.lastSeat()
	seat.HandBack()
	seat.told(false, "Another page took control.")
	b.until("!document.querySelector('#screen').hasAttribute('data-mine')")
	if said := b.text("#notice"); said != "Another page took control." {
		t.Errorf("the page says %q", said)
	}
	if focused := eval[string](b, "document.activeElement.id"); focused != "lock" {
		t.Errorf("the focus went to %q", focused)
	}
}

func TestTheAgentAsksForAPerson(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3}, Session{ID: "b", Title: "other", Screen: 4})
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey)
	b.until("document.querySelectorAll('.card').length === 2")
	request := &Request{Reason: "A code from your phone", At: time.Now()}
	c.edit(3, func(s *Session) { s.Request = request })
	b.until("document.querySelector('.card[data-needs]') && document.title.includes('needs you')")
	for _, place := range []string{".card[data-needs]", "#list li:first-child"} {
		if said := b.text(place); !strings.Contains(said, "A code from your phone") {
			t.Errorf("%s says %q", place, said)
		}
	}
	for i, answer := range []string{"#request-done", "#request-decline"} {
		c.edit(3, func(s *Session) { s.Request = request })
		b.open(s, fmt.Sprintf("/?%d#screen=3", i))
		b.entered()
		b.until("!document.querySelector('#request').hidden")
		b.unlock()
		b.click(answer)
		b.until("document.querySelector('#request').hidden && !document.querySelector('#screen').hasAttribute('data-mine')")
	}
	if got := strings.Join(c.answers, ", "); got != "3 handed_back, 3 declined" {
		t.Errorf("answers %s", got)
	}
}

func TestTheEndOfASession(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey+"&screen=3")
	b.entered()
	c.edit(3, func(s *Session) { s.State = Ended })
	b.until("document.querySelector('#fate').innerText === 'Session ended, screen closes when you leave.'")
	c.change(func() { c.sessions = nil })
	b.until("document.querySelector('#screen-name').innerText === 'This screen is not open' && document.querySelector('#lock').disabled")
}

func TestThePageConnectsAgain(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	paint(c.Frame(3), 0x2d6a4f)
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey+"&screen=3")
	b.entered()
	b.unlock()
	b.press("a", "KeyA", 0)

	// The computer goes and comes back on the same port.
	s.stop()
	b.until("document.querySelector('#link').dataset.state === 'lost'")
	if b.text("#waiting") == "" {
		t.Error("the page does not say that the picture is gone")
	}
	paint(c.Frame(3), 0x7a4a2f)
	serveAt(t, c, s.addr)
	b.until("document.querySelector('#link').dataset.state === 'live'")
	b.entered()
	b.wantPicture(c.Frame(3))
	if eval[bool](b, "document.querySelector('#screen').hasAttribute('data-mine')") {
		t.Error("the screen is unlocked without anybody having asked")
	}
	b.forgive() // connections were refused meanwhile
}

func TestAGridOfSixteen(t *testing.T) {
	c := newRFBComputer()
	for i := range 16 {
		c.open(Session{ID: fmt.Sprint(i), Title: fmt.Sprintf("Task %d", i), Screen: i + 1, Width: 1280, Height: 800})
		paint(c.Frame(i+1), uint32(i*0x0a1020))
	}
	s := serve(t, c)
	b := startBrowser(t)
	b.do(size(2560, 1440))
	b.open(s, "/#key="+testKey)
	b.until("document.querySelectorAll('.shot img:not([hidden])').length === 16")
	b.save("grid-of-16")
	// Only what can be seen is asked for.
	b.do(size(360, 600))
	b.open(s, "/")
	b.until("document.querySelectorAll('.shot img:not([hidden])').length >= 1")
	if n := eval[int](b, "document.querySelectorAll('.shot img:not([hidden])').length"); n > 4 {
		t.Errorf("%d pictures were sent to a small window", n)
	}
	b.do(evaluate("document.querySelector('.card[data-screen=\"16\"]').scrollIntoView()"))
	b.until("document.querySelector('.card[data-screen=\"16\"] img:not([hidden])')")
}

func TestThePageIsThereWithinASecond(t *testing.T) {
	c := newRFBComputer(Session{ID: "a", Title: "task", Screen: 3})
	paint(c.Frame(3), 0x2d6a4f)
	s := serve(t, c)
	b := startBrowser(t)
	b.open(s, "/#key="+testKey+"&screen=3")
	took := eval[float64](b, `new Promise((resolve) => {
		const look = () => {
			const canvas = document.querySelector('#stage canvas');
			if (canvas?.width && canvas.getContext('2d').getImageData(0, 0, 1, 1).data[1] === 0x6a) resolve(performance.now());
			else setTimeout(look, 2);
		};
		look();
	})`)
	t.Logf("first frame after %.0f ms", took)
	// The aim is a second, on a machine that does nothing else.
	if took > 5000 {
		t.Errorf("the first frame came after %.0f ms", took)
	}
}
