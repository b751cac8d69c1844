package rfb

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb/vncauth"
)

// Security types (RFC 6143 section 7.2).
const (
	securityInvalid = 0
	securityNone    = 1
	securityVNC     = 2
)

// ErrWrongPassword is returned by [Conn.Run] when the viewer did not know the
// password.
var ErrWrongPassword = errors.New("wrong password")

// security agrees on a security type and lets the viewer prove its password
// (RFC 6143 sections 7.1.2 and 7.1.3).
func (c *Conn) security(ctx context.Context, v version) error {
	if err := c.refusal(); err != nil {
		_ = sendReason(c.rwc, v, err.Error())
		return err
	}
	// One type only: viewers take the first of the list that they know, so a
	// second would never be stronger.
	offered := byte(securityVNC)
	if c.cfg.NoAuth {
		offered = securityNone
	}
	if err := c.chooseSecurity(v, offered); err != nil {
		return err
	}
	if offered == securityNone {
		if v == version38 {
			return sendSecurityResult(c.rwc, v, nil)
		}
		return nil
	}
	err := c.checkPassword(ctx)
	if err == nil || errors.Is(err, ErrWrongPassword) {
		return errors.Join(err, sendSecurityResult(c.rwc, v, err))
	}
	return err
}

// refusal says why nobody may look at this screen now, or nil.
func (c *Conn) refusal() error {
	switch {
	case c.cfg.Refuse != nil:
		return c.cfg.Refuse
	case c.cfg.Password == "" && !c.cfg.NoAuth:
		return errors.New("no password is set for this screen")
	}
	return nil
}

// chooseSecurity offers one type. Version 3.3 leaves the viewer no choice.
func (c *Conn) chooseSecurity(v version, offered byte) error {
	if v == version33 {
		_, err := c.rwc.Write(binary.BigEndian.AppendUint32(nil, uint32(offered)))
		return err
	}
	if _, err := c.rwc.Write([]byte{1, offered}); err != nil {
		return err
	}
	chosen, err := c.in.ReadByte()
	if err != nil {
		return err
	}
	if chosen != offered {
		err := protocolErrorf("security type %d was not offered", chosen)
		return errors.Join(err, sendSecurityResult(c.rwc, v, err))
	}
	return nil
}

// checkPassword challenges the viewer. A person may have to type the password
// first, so this may take longer than the rest of the handshake.
func (c *Conn) checkPassword(ctx context.Context) error {
	c.patience.Reset(passwordTimeout)
	var challenge, response [vncauth.ChallengeSize]byte
	rand.Read(challenge[:])
	if _, err := c.rwc.Write(challenge[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.in, response[:]); err != nil {
		return err
	}
	guard, peer := c.cfg.Guard, c.cfg.Peer
	if rightResponse(c.cfg.Password, challenge, response) {
		guard.Right(peer)
		return nil
	}
	// The wait slows down guessing; see Guard for why nothing else is delayed.
	select {
	case <-time.After(guard.Wrong(peer)):
	case <-ctx.Done():
	}
	return ErrWrongPassword
}

// rightResponse tells, in constant time, whether a response proves the password.
// An empty password is never proved.
func rightResponse(password string, challenge, response [vncauth.ChallengeSize]byte) bool {
	want := vncauth.Answer(password, challenge)
	return subtle.ConstantTimeCompare(want[:], response[:]) == 1 && password != ""
}

// sendSecurityResult ends the security handshake. Only 3.8 says why it failed.
func sendSecurityResult(w io.Writer, v version, failure error) error {
	if failure == nil {
		_, err := w.Write([]byte{0, 0, 0, 0})
		return err
	}
	msg := []byte{0, 0, 0, 1}
	if v == version38 {
		msg = appendString(msg, failure.Error())
	}
	_, err := w.Write(msg)
	return err
}

// sendReason refuses a connection in place of offering security types.
func sendReason(w io.Writer, v version, reason string) error {
	msg := []byte{securityInvalid}
	if v == version33 {
		msg = []byte{0, 0, 0, securityInvalid}
	}
	if _, err := w.Write(appendString(msg, reason)); err != nil {
		return fmt.Errorf("refuse the viewer: %w", err)
	}
	return nil
}

func appendString(dst []byte, s string) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}
