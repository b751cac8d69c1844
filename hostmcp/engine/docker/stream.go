package docker

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
)

// stream is a connection to a port inside the container that goes through the Docker
// API: a program in the container connects to the port, and its input and output are the
// bytes of the connection. It is a [net.Conn] for one reader and one writer.
type stream struct {
	net.Conn
	engine client.HijackedResponse
	left   uint32 // bytes of the current frame that are not read yet
}

// halfCloser is a connection of which each end can say that it has no more to say.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// dialInside connects to a port of the loopback address of a container, which is named by
// its name or id. Its errors are of type [api.Error].
func (c *call) dialInside(ctx context.Context, container string, port int) (halfCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	made, err := c.docker.ExecCreate(ctx, container, client.ExecCreateOptions{
		User: noOne, AttachStdin: true, AttachStdout: true,
		// An end that has said all it has to say may wait 10 s for the other one.
		Cmd: []string{"socat", "-t", "10", "-", "TCP:127.0.0.1:" + strconv.Itoa(port) + ",nodelay"},
	})
	if cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) {
		return nil, api.Errorf(api.CodeComputerStopped, "The container %s is not running.", c.cfg.Name).
			WithFix("Call start_computer; files in home are still there.")
	}
	if err != nil {
		return nil, c.explain(ctx, "reach into the container "+c.cfg.Name, err)
	}
	attached, err := c.docker.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, c.explain(ctx, "reach into the container "+c.cfg.Name, err)
	}
	return &stream{Conn: attached.Conn, engine: attached.HijackedResponse}, nil
}

// Read returns what comes from the port. The engine wraps it in frames, each with a
// header of 8 bytes: the number of the output, three bytes 0, the length.
func (s *stream) Read(b []byte) (int, error) {
	for s.left == 0 {
		var header [8]byte
		if _, err := io.ReadFull(s.engine.Reader, header[:]); err != nil {
			return 0, err
		}
		s.left = binary.BigEndian.Uint32(header[4:])
		if stdcopy.StdType(header[0]) != stdcopy.Stdout { // the engine's own words on an error
			if _, err := io.CopyN(io.Discard, s.engine.Reader, int64(s.left)); err != nil {
				return 0, err
			}
			s.left = 0
		}
	}
	n, err := s.engine.Reader.Read(b[:min(len(b), int(s.left))])
	s.left -= uint32(n)
	return n, err
}

// CloseWrite says that nothing more will be written.
func (s *stream) CloseWrite() error { return s.engine.CloseWrite() }
