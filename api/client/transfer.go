package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// PutArchive sends an archive that the computer unpacks. pack writes it, from another
// goroutine, and is not called when the computer refuses it beforehand. progress is
// told about every second, while something moves, what has arrived.
func (c *Client) PutArchive(ctx context.Context, session string, r api.PutArchiveRequest, pack func(io.Writer) error, progress func(api.Progress)) (result api.TransferResult, err error) {
	header, err := json.Marshal(r)
	if err != nil {
		return result, api.Errorf(api.CodeInternal, "The call could not be made: %v.", err)
	}
	req, err := c.request(ctx, Request{Route: api.RoutePutArchive, Path: id(session)})
	if err != nil {
		return result, api.Errorf(api.CodeInternal, "The call could not be made: %v.", err)
	}
	// JSON may hold this one control character, a header may not.
	req.Header.Set(api.HeaderRequest, strings.ReplaceAll(string(header), "\x7f", `\u007f`))
	req.Header.Set("Content-Type", api.ArchiveType)
	req.Header.Set("Expect", "100-continue")
	req.Body, req.ContentLength = packed(pack), -1
	resp, err := c.client().Do(req)
	if err != nil {
		return result, connectionError(ctx, err)
	}
	defer resp.Body.Close()
	kind, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "multipart/mixed" {
		return result, refusalOf(ctx, resp)
	}
	if _, err := readParts(multipart.NewReader(resp.Body, params["boundary"]), progress, &result); err != nil {
		return result, connectionError(ctx, err)
	}
	return result, nil
}

// packed is a request's body that writes itself, which spares a copy and a pipe.
type packed func(io.Writer) error

// WriteTo is what net/http calls.
func (p packed) WriteTo(w io.Writer) (int64, error) { return 0, p(w) }

func (p packed) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (p packed) Close() error             { return nil }

// GetArchive returns the archive of a file or folder of the computer. The caller closes
// it; its Read returns errors of the connection as an [api.Error].
func (c *Client) GetArchive(ctx context.Context, session string, r api.GetArchiveRequest) (io.ReadCloser, error) {
	req, err := c.request(ctx, Request{Route: api.RouteGetArchive, Path: id(session), Body: r})
	if err != nil {
		return nil, api.Errorf(api.CodeInternal, "The call could not be made: %v.", err)
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	if resp.Header.Get("Content-Type") != api.ArchiveType {
		defer resp.Body.Close()
		return nil, refusalOf(ctx, resp)
	}
	return archive{ctx, resp}, nil
}

// archive is a body whose errors have a code.
type archive struct {
	ctx  context.Context
	resp *http.Response
}

func (a archive) Close() error { return a.resp.Body.Close() }

func (a archive) Read(p []byte) (int, error) {
	n, err := a.resp.Body.Read(p)
	switch {
	case errors.Is(err, io.EOF) && a.resp.Trailer.Get(api.TrailerError) != "":
		err = decodeError([]byte(a.resp.Trailer.Get(api.TrailerError)))
	case err != nil && !errors.Is(err, io.EOF):
		err = connectionError(a.ctx, err)
	}
	return n, err
}

// refusalOf reads the error of an answer that should have been something else.
func refusalOf(ctx context.Context, resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "application/json" || resp.StatusCode == http.StatusOK {
		return strangerError(resp.Status + " with the content type " + kind)
	}
	body, err := readAll(resp.Body, maxJSON)
	if err != nil {
		return connectionError(ctx, err)
	}
	return decodeError(body)
}
