package hostmcp

import (
	"fmt"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Fields that several kinds of action have.
var (
	xField         = Field{Name: "x", Kind: Integer, Required: true, Max: api.MaxScreenSide - 1, Doc: "Pixels from the left edge of the screen."}
	yField         = Field{Name: "y", Kind: Integer, Required: true, Max: api.MaxScreenSide - 1, Doc: "Pixels from the top edge of the screen."}
	buttonField    = Field{Name: "button", Kind: String, Enum: api.Buttons, Doc: "Default left."}
	modifiersField = Field{
		Name: "modifiers", Kind: Array, Item: &Field{Kind: String},
		Doc: "Keys held during the action: ctrl, alt, shift, super.",
	}
	settleField = Field{Name: "settle", Kind: String, Enum: []string{api.SettleOff}, Doc: "off: do not wait for the screen after this action."}
)

const maxWaitMS = int(api.MaxWait / time.Millisecond)

// actionKinds says what each kind of action takes. It agrees with api.Action.Check,
// which a test holds it to.
var actionKinds = []Variant{
	{Kind: api.KindClick, Doc: "click at x, y; double for a double click, which counts as two actions", Fields: []Field{
		xField, yField, buttonField,
		{Name: "double", Kind: Boolean, Doc: "Click twice. Two clicks in a row stay two."},
		modifiersField, settleField,
	}},
	{Kind: api.KindMove, Doc: "move the pointer", Fields: []Field{xField, yField, settleField}},
	{Kind: api.KindDown, Doc: "press a button and keep it pressed", Fields: []Field{optional(xField), optional(yField), buttonField, settleField}},
	{Kind: api.KindUp, Doc: "release a button", Fields: []Field{optional(xField), optional(yField), buttonField, settleField}},
	{Kind: api.KindDrag, Doc: "drag from x, y to to_x, to_y", Fields: []Field{
		xField, yField,
		{Name: "to_x", Kind: Integer, Required: true, Max: api.MaxScreenSide - 1, Doc: "Where a drag ends."},
		{Name: "to_y", Kind: Integer, Required: true, Max: api.MaxScreenSide - 1, Doc: "Where a drag ends."},
		buttonField,
		{Name: "duration_ms", Kind: Integer, Max: maxWaitMS, Doc: "How long the drag takes. Default 300."},
		settleField,
	}},
	{Kind: api.KindType, Doc: "type Unicode text where the keyboard focus is; a newline is Enter, a tab is Tab", Fields: []Field{
		{Name: "text", Kind: String, Required: true, Doc: fmt.Sprintf("Text to type, exactly; at most %d characters in one call. What a program reads that a line of it starts goes into the next action. In Chromium's Open dialog Enter cancels: click Open.", api.MaxTextRunes)},
		settleField,
	}},
	{Kind: api.KindKey, Doc: "press a key such as enter, esc, tab, f5, page_down, a, with modifiers", Fields: []Field{
		{Name: "key", Kind: String, Required: true, Doc: "Name of one key, or one character."},
		modifiersField,
		{Name: "repeat", Kind: Integer, Min: 1, Max: api.MaxRepeat, Doc: "Press it this often. Default 1."},
		{Name: "hold_ms", Kind: Integer, Max: maxWaitMS, Doc: "Keep it pressed this long."},
		settleField,
	}},
	{Kind: api.KindScroll, Doc: "turn the wheel, at x, y if given", Fields: []Field{
		{Name: "direction", Kind: String, Required: true, Enum: api.Directions},
		{Name: "amount", Kind: Integer, Min: 1, Max: api.MaxScroll, Doc: "Steps of the wheel. Default 3."},
		optional(xField), optional(yField), modifiersField, settleField,
	}},
	{Kind: api.KindWait, Doc: "wait; needed only for what happens without a sign on the screen", Fields: []Field{
		{Name: "ms", Kind: Integer, Max: maxWaitMS, Doc: "Milliseconds to wait. Default 350."},
		settleField,
	}},
	{Kind: api.KindFocus, Doc: "raise the window of an application by class or title, or start the application", Fields: []Field{
		{Name: "application", Kind: String, Required: true, Doc: "Class or title of a window, or a program."},
		{Name: "uri", Kind: String, Doc: "Address or file to open in it."},
		settleField,
	}},
}

func optional(f Field) Field {
	f.Required = false
	return f
}

// actionsDoc is the one line per kind that a model reads.
func actionsDoc() string {
	var b strings.Builder
	b.WriteString("The actions, each an object with its kind and that kind's fields (? = optional):")
	for _, v := range actionKinds {
		b.WriteString("\n" + v.Kind + " {")
		separator := ""
		for _, f := range v.Fields {
			if f.Name == settleField.Name {
				continue // every kind has it
			}
			b.WriteString(separator + f.Name)
			if !f.Required {
				b.WriteByte('?')
			}
			separator = ", "
		}
		b.WriteString("}: " + v.Doc)
	}
	return b.String()
}
