package rfb

// evdevOffset is the difference between the keycodes of Linux and of X servers.
const evdevOffset = 8

// extendedBit marks the scancodes that keyboards send after 0xe0.
const extendedBit = 0x80

// keycodeOf returns the X keycode of a PC scancode (set 1) as QEMU's key message
// carries it, or 0 when there is no such key.
func keycodeOf(scancode uint32) byte {
	// Linux numbered its keys after this part of the set.
	const alike, f11, f12 = 0x53, 0x57, 0x58
	if scancode >= 1 && scancode <= alike || scancode == f11 || scancode == f12 {
		return byte(scancode) + evdevOffset
	}
	if code, ok := linuxKeys[scancode]; ok {
		return code + evdevOffset
	}
	return 0
}

// linuxKeys are the Linux key numbers of the other scancodes.
var linuxKeys = map[uint32]byte{
	0x54: 99,  // SysRq with Alt
	0x56: 86,  // the 102nd key
	0x59: 117, // keypad =
	0x5d: 183, // F13
	0x5e: 184, // F14
	0x5f: 185, // F15
	0x70: 93,  // Katakana Hiragana
	0x73: 89,  // Ro
	0x77: 91,  // Hiragana
	0x78: 90,  // Katakana
	0x79: 92,  // Henkan
	0x7b: 94,  // Muhenkan
	0x7d: 124, // Yen
	0x7e: 121, // keypad comma

	extendedBit | 0x10: 165, // previous track
	extendedBit | 0x19: 163, // next track
	extendedBit | 0x1c: 96,  // keypad Enter
	extendedBit | 0x1d: 97,  // right Control
	extendedBit | 0x20: 113, // mute
	extendedBit | 0x21: 140, // calculator
	extendedBit | 0x22: 164, // play, pause
	extendedBit | 0x24: 166, // stop
	extendedBit | 0x2e: 114, // volume down
	extendedBit | 0x30: 115, // volume up
	extendedBit | 0x32: 172, // home page
	extendedBit | 0x35: 98,  // keypad /
	extendedBit | 0x37: 99,  // Print
	extendedBit | 0x38: 100, // right Alt
	extendedBit | 0x46: 119, // Pause
	extendedBit | 0x47: 102, // Home
	extendedBit | 0x48: 103, // Up
	extendedBit | 0x49: 104, // Page Up
	extendedBit | 0x4b: 105, // Left
	extendedBit | 0x4d: 106, // Right
	extendedBit | 0x4f: 107, // End
	extendedBit | 0x50: 108, // Down
	extendedBit | 0x51: 109, // Page Down
	extendedBit | 0x52: 110, // Insert
	extendedBit | 0x53: 111, // Delete
	extendedBit | 0x5b: 125, // left Super
	extendedBit | 0x5c: 126, // right Super
	extendedBit | 0x5d: 127, // Menu
	extendedBit | 0x65: 217, // search
	extendedBit | 0x66: 156, // bookmarks
	extendedBit | 0x67: 173, // refresh
	extendedBit | 0x69: 159, // forward
	extendedBit | 0x6a: 158, // back
	extendedBit | 0x6c: 155, // mail
}
