package daemon

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// drainLimit is how long a caller may go on sending after it was answered.
const drainLimit = 10 * time.Second

// putArchive unpacks the body of the request, and reports progress while that comes in.
func (d *daemon) putArchive(c *call) (any, error) {
	var r api.PutArchiveRequest
	if err := decodeJSON([]byte(c.r.Header.Get(api.HeaderRequest)), &r); err != nil {
		return nil, err
	}
	s, err := d.cfg.Table.Get(c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	conn := http.NewResponseController(c.w)
	if err := conn.EnableFullDuplex(); err != nil {
		return nil, err
	}
	archive := &endingReader{Reader: c.r.Body, ended: make(chan struct{})}
	result, err := s.PutArchive(c.r.Context(), r, archive, c.progress)
	if err != nil && !archive.began.Load() {
		return nil, err
	}
	if err != nil {
		c.fail(d.told(c.r.Pattern, err))
	} else {
		c.finish(result)
	}
	// The caller may still be sending. A connection that was closed under it would lose
	// the answer.
	conn.Flush()
	conn.SetReadDeadline(time.Now().Add(drainLimit))
	<-archive.ended
	return nil, nil
}

// endingReader tells whether it was read, and when there is no more to read.
type endingReader struct {
	io.Reader
	began atomic.Bool
	ended chan struct{} // closed at the end, or the first error
}

func (r *endingReader) Read(p []byte) (int, error) {
	r.began.Store(true)
	n, err := r.Reader.Read(p)
	if err != nil {
		select {
		case <-r.ended:
		default:
			close(r.ended)
		}
	}
	return n, err
}

// getArchive answers with an archive.
func (d *daemon) getArchive(c *call) (any, error) {
	var r api.GetArchiveRequest
	s, err := d.session(c, &r)
	if err != nil {
		return nil, err
	}
	err = s.GetArchive(c.r.Context(), r, archiveWriter{c})
	limitWrite(c.w)
	if err != nil && c.began {
		c.w.Header().Set(http.TrailerPrefix+api.TrailerError, string(encode(d.told(c.r.Pattern, err))))
		return nil, nil
	}
	return nil, err
}

// archiveWriter is the answer to a caller, which is an archive from the first byte on.
type archiveWriter struct{ c *call }

func (a archiveWriter) Write(p []byte) (int, error) {
	limitWrite(a.c.w)
	if !a.c.began {
		a.c.began = true
		a.c.w.Header().Set("Content-Type", api.ArchiveType)
		// An answer that is sent before its length is known may have a trailer.
		http.NewResponseController(a.c.w).Flush()
	}
	return a.c.w.Write(p)
}
