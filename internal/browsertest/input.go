package browsertest

import (
	"strings"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Click clicks the middle of an element once it can be seen.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(selector, chromedp.NodeVisible))
}

// Insert enters text where the focus is, as an on-screen keyboard does.
func (b *Tab) Insert(text string) {
	b.t.Helper()
	b.do(send(input.InsertText, input.InsertTextParams{Text: text}))
}

// Modifiers of [Tab.Press] and [Tab.Key], a set.
const (
	Alt  = 1
	Ctrl = 2
	Cmd  = 4
)

// Key sends one event of a keyboard: rawKeyDown, keyDown, which also enters text, or keyUp.
func (b *Tab) Key(kind, key, code string, modifiers int64) {
	b.t.Helper()
	b.do(send(input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventType(kind), Key: key, Code: code, Modifiers: modifiers, WindowsVirtualKeyCode: virtualKeys[key],
	}))
}

// Press presses and releases a key as a keyboard does, with modifiers held. Commands are
// what the browser does by itself at that key.
func (b *Tab) Press(key, code string, modifiers int64, commands ...string) {
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
