package rfb_test

import (
	"image"
	"testing"

	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// Checklist 37: the first update covers the whole screen.
func TestChecklist37FirstUpdateIsWhole(t *testing.T) {
	c := newCanvas(200, 100)
	c.paint(c.bounds(), gradient)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.NoVNC...)
	pixels(t, client, false)
	c.paint(image.Rect(3, 5, 20, 30), flat(0x123456))
	c.sync(t, client)
}
