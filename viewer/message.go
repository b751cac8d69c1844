package viewer

import "time"

// Types of command, what a page sends on /live. Each is one JSON text message.
const (
	cmdHello      = "hello"      // key: the first one
	cmdThumbnails = "thumbnails" // screens, width: which pictures the page shows now
	cmdTake       = "take"       // screen: the page's own for this and those below
	cmdHandBack   = "hand_back"
	cmdResetKeys  = "reset_keys"
	cmdPaste      = "paste"  // text
	cmdAnswer     = "answer" // screen: any; answer
)

// command is a message of a page. Type tells which fields count.
type command struct {
	Type    string `json:"type"`
	Key     string `json:"key"`
	Screens []int  `json:"screens"`
	Width   int    `json:"width"` // of thumbnails, in pixels
	Screen  int    `json:"screen"`
	Text    string `json:"text"`
	Answer  Answer `json:"answer"`
}

// Types of message, what a page receives on /live as JSON text messages. Binary
// messages are thumbnails: one byte with the screen's number, then a JPEG file.
const (
	msgWelcome  = "welcome"  // page, name, expiry_ms: the key was right
	msgSessions = "sessions" // sessions, now: the whole list
	msgControl  = "control"  // screen, mine, why: whether the page may act
	msgPasted   = "pasted"   // screen, why: the answer to a paste, empty when it worked
	msgNotice   = "notice"   // why: a sentence for the person
	msgShow     = "show"     // screen: an agent has opened it, so go there
)

// message is a message to a page. Type tells which fields count.
type message struct {
	Type     string    `json:"type"`
	Page     string    `json:"page,omitempty"` // proves to /screens/{number} who it is
	Name     string    `json:"name,omitempty"`
	ExpiryMS int64     `json:"expiry_ms,omitempty"` // of control, after the last sign of its holder
	Sessions []Session `json:"sessions,omitempty"`
	Now      time.Time `json:"now,omitzero"` // the browser's clock may differ
	Screen   int       `json:"screen,omitempty"`
	Mine     bool      `json:"mine"`
	Why      string    `json:"why,omitempty"`
}

// Close codes of both WebSockets, beside those of RFC 6455. The reason is a sentence.
const (
	closeWrongKey = 4001 // do not try again
	closeTooMany  = 4002
	closeRefused  = 4003 // the seat
	closeSlow     = 4004 // the page did not keep up
)
