// Package input works the keyboard, the pointer and the clipboard of one screen.
//
// Four words that are easily mixed up: a rune is text, a keysym is what X calls the thing a key
// stands for (package keysym), a keycode is a key of this X server, and an XT code
// is a key of a viewer's keyboard. Only this package turns one into another.
package input
