package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Windows has numbers of its own for these, which errors.Is does not match with the
// common ones.
const (
	windowsReset   = syscall.Errno(10054) // WSAECONNRESET
	windowsRefused = syscall.Errno(10061) // WSAECONNREFUSED
)

// connectionError words an error of the connection. One that is an api.Error already
// stays as it is.
func connectionError(ctx context.Context, err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // our own path says nothing to who reads the message
	}
	// The session of a computer that has stopped is gone: the same call cannot succeed.
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return api.Errorf(api.CodeCanceled, "The call ended early: %v.", context.Cause(ctx))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return api.Errorf(api.CodeTimeout, "The computer did not answer in time.").
			WithFix("Try again.").WithRetry()
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, windowsRefused), errors.Is(err, fs.ErrNotExist):
		return api.Errorf(api.CodeComputerStopped, "The computer is not running: %v.", err).
			WithFix("Call start_computer; files in home are still there.")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, windowsReset), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed): // the transport, which has seen the computer's end, while we sent
		return api.Errorf(api.CodeComputerStopped, "The computer went away during the call: %v.", err).
			WithFix("Call start_computer; files in home are still there.")
	}
	return api.Errorf(api.CodeEngineUnavailable, "The computer cannot be reached: %v.", err).
		WithFix("Check that the engine runs, then call start_computer.").WithRetry()
}

// strangerError is for an answer that our daemon would not give.
func strangerError(what string) *api.Error {
	return api.Errorf(api.CodeEngineUnavailable, "Something else than the computer answers at its address: %s.", what).
		WithFix("Check what uses the port, then call start_computer.")
}

// decodeError reads a refusal.
func decodeError(body []byte) *api.Error {
	var e api.Error
	if json.Unmarshal(body, &e) != nil || e.Code == "" {
		return strangerError("a refusal that is not understood")
	}
	return &e
}
