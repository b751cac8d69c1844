package x11

import "github.com/jezek/xgb"

const xkbName = "XKEYBOARD"

// Requests and events about lights and bells (X Keyboard Extension, protocol
// specification, appendix D).
const (
	xkbSelectEvents      = 1
	xkbGetIndicatorState = 12

	// All events of the extension have one number, and their kind in the second byte.
	xkbIndicatorStateNotify = 4
	xkbBellNotify           = 8
)

func init() {
	xgb.NewExtEventFuncs[xkbName] = map[int]xgb.NewEventFun{0: func(b []byte) xgb.Event { return keyboardEvent(b[1]) }}
}

// keyboardEvent is the kind of an event of XKB.
type keyboardEvent byte

func (e keyboardEvent) Bytes() []byte  { return []byte{byte(e)} }
func (e keyboardEvent) String() string { return xkbName }

// Notify calls lights when one of the keyboard's lights has changed, and bell when the
// bell rings, until stop is called. Both must be quick and must not wait for the X
// server; they may still be called once when stop returns.
func (k *Keyboard) Notify(lights, bell func()) (stop func()) {
	stop = k.c.listen(func(ev xgb.Event) {
		switch ev {
		case keyboardEvent(xkbIndicatorStateNotify):
			lights()
		case keyboardEvent(xkbBellNotify):
			bell()
		}
	})
	const kinds = 1<<xkbIndicatorStateNotify | 1<<xkbBellNotify
	b := k.request(xkbSelectEvents, 16)
	xgb.Put16(b[6:], kinds)  // of these kinds
	xgb.Put16(b[10:], kinds) // all
	k.send(b)
	return stop
}

// Lights returns which of the three lights are on that every key map has, in this order.
func (k *Keyboard) Lights() (caps, num, scroll bool, err error) {
	b, err := k.reply(k.request(xkbGetIndicatorState, 8), 32)
	if err != nil {
		return false, false, false, failed("ask for the keyboard's lights", err)
	}
	return b[8]&1 != 0, b[8]&2 != 0, b[8]&4 != 0, nil
}
