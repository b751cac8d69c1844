package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// However the transport words the end of a connection, a computer that has gone is told
// from one that cannot be reached: calling again helps with one of them only.
func TestConnectionErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want api.Code
	}{
		{syscall.ECONNREFUSED, api.CodeComputerStopped},
		{io.ErrUnexpectedEOF, api.CodeComputerStopped},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, api.CodeComputerStopped},
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, api.CodeComputerStopped},
		{&net.OpError{Op: "write", Err: net.ErrClosed}, api.CodeComputerStopped},
		{&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, api.CodeEngineUnavailable},
		{errors.New("anything else"), api.CodeEngineUnavailable},
		{fmt.Errorf("wrapped: %w", api.Errorf(api.CodeBusy, "It is busy.")), api.CodeBusy},
	} {
		err := connectionError(context.Background(), &url.Error{Op: "Post", URL: "http://127.0.0.1:1/", Err: test.err})
		if err.Code != test.want || err.Fix == "" && test.want != api.CodeBusy {
			t.Errorf("%v: %v, want %s", test.err, err, test.want)
		}
	}
}
