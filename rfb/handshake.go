package rfb

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb/encode"
)

// handshake leads to the point where messages flow (RFC 6143 sections 7.1 to 7.3).
func (c *Conn) handshake(ctx context.Context) error {
	v, err := agreeVersion(c.in, c.rwc)
	if err != nil {
		return err
	}
	if err := c.security(ctx, v); err != nil {
		return err
	}
	c.patience.Reset(handshakeTimeout)
	if c.onLogin != nil {
		c.onLogin()
	}
	// ClientInit asks to be alone or to share. Screens are always shared: some
	// viewers ask to be alone by default, and would throw out all others.
	if _, err := c.in.ReadByte(); err != nil {
		return err
	}
	return c.serverInit(ctx)
}

// serverInit tells the screen's size, the native pixel format and the name.
func (c *Conn) serverInit(ctx context.Context) error {
	buffer := c.cfg.Screen.frame
	if buffer.Stamp().Epoch == 0 {
		// The screen is just starting and has no size yet.
		if _, err := buffer.Wait(ctx, frame.Stamp{}); err != nil {
			return fmt.Errorf("wait for the screen: %w", err)
		}
	}
	buffer.Read(func(v frame.View) { c.w.resize(v.Width, v.Height) })
	c.w.name = c.cfg.Screen.Name()
	msg := binary.BigEndian.AppendUint16(nil, uint16(c.w.width))
	msg = binary.BigEndian.AppendUint16(msg, uint16(c.w.height))
	msg = encode.Native.Append(msg)
	msg = appendString(msg, c.w.name)
	return c.send(msg)
}
