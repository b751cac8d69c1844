// Package client is the typed HTTP client of the daemon's API. Every error that it
// returns is an [*api.Error].
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

const (
	dialTimeout = 5 * time.Second
	// maxJSON and maxImage cap what is read of one part of an answer, in bytes.
	maxJSON  = 16 << 20
	maxImage = 64 << 20
)

// Client calls one daemon. Set its fields before the first call; its methods may be
// called from any goroutine. A Client without Dial connects by TCP.
type Client struct {
	BaseURL string // "http://127.0.0.1:7070"
	Token   string
	// Dial, when set, makes the connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Computer and Home, when set, are the identity that the daemon must have. A
	// call on another computer is refused before it changes anything.
	Computer, Home string

	once sync.Once
	http *http.Client
}

// Image is a picture file of an answer.
type Image struct {
	ContentType string // image/png or image/jpeg
	Data        []byte
}

// Request is one call of a route. The methods of Client make them for the routes that
// they know; others may be called with Do.
type Request struct {
	Route string            // a Route constant of package api
	Path  map[string]string // values of the route's {names}
	Body  any               // sent as JSON unless nil
	// Progress, when set, is called for each report, from the goroutine of Do.
	Progress func(api.Progress)
}

// Health returns what the daemon says of itself. It needs no token.
func (c *Client) Health(ctx context.Context) (api.Health, error) {
	return call[api.Health](ctx, c, Request{Route: api.RouteHealth})
}

// Info describes the computer.
func (c *Client) Info(ctx context.Context) (api.Info, error) {
	return call[api.Info](ctx, c, Request{Route: api.RouteInfo})
}

// Heartbeat keeps the owner's sessions for another api.OwnerTimeout; see [Heart].
func (c *Client) Heartbeat(ctx context.Context, owner string) (api.HeartbeatResult, error) {
	return call[api.HeartbeatResult](ctx, c, Request{Route: api.RouteHeartbeat, Path: map[string]string{"owner": owner}})
}

// Release ends the owner's sessions.
func (c *Client) Release(ctx context.Context, owner string) (api.HeartbeatResult, error) {
	return call[api.HeartbeatResult](ctx, c, Request{Route: api.RouteRelease, Path: map[string]string{"owner": owner}})
}

// Start opens a session.
func (c *Client) Start(ctx context.Context, r api.StartRequest) (api.StartResult, error) {
	return call[api.StartResult](ctx, c, Request{Route: api.RouteStart, Body: r})
}

// End ends a session.
func (c *Client) End(ctx context.Context, session string) (api.EndResult, error) {
	return call[api.EndResult](ctx, c, Request{Route: api.RouteEnd, Path: id(session)})
}

// Observe returns the session's screen, with at most one image.
func (c *Client) Observe(ctx context.Context, session string, r api.ObserveRequest) (api.Observation, []Image, error) {
	return callImages[api.Observation](ctx, c, Request{Route: api.RouteObserve, Path: id(session), Body: r})
}

// Act runs a batch. progress may be nil.
func (c *Client) Act(ctx context.Context, session string, r api.ActRequest, progress func(api.Progress)) (api.ActResult, []Image, error) {
	return callImages[api.ActResult](ctx, c, Request{Route: api.RouteAct, Path: id(session), Body: r, Progress: progress})
}

// Wait waits for a condition.
func (c *Client) Wait(ctx context.Context, session string, r api.WaitRequest) (api.WaitResult, []Image, error) {
	return callImages[api.WaitResult](ctx, c, Request{Route: api.RouteWait, Path: id(session), Body: r})
}

// Configure pins settling values and returns those in force.
func (c *Client) Configure(ctx context.Context, session string, r api.ConfigureRequest) (api.Settle, error) {
	return call[api.Settle](ctx, c, Request{Route: api.RouteConfigure, Path: id(session), Body: r})
}

// Shutdown asks the computer to stop. It returns before that has happened.
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := call[struct{}](ctx, c, Request{Route: api.RouteShutdown})
	return err
}

// RequestHuman asks a person to take over and waits for the answer. progress may be nil.
func (c *Client) RequestHuman(ctx context.Context, session string, r api.HumanRequest, progress func(api.Progress)) (api.HumanResult, []Image, error) {
	return callImages[api.HumanResult](ctx, c, Request{Route: api.RouteHuman, Path: id(session), Body: r, Progress: progress})
}

// Show waits until the session has a screen and tells how a person can see it.
func (c *Client) Show(ctx context.Context, session string, r api.ShowRequest) (api.ShowResult, error) {
	return call[api.ShowResult](ctx, c, Request{Route: api.RouteShow, Path: id(session), Body: r})
}

func id(session string) map[string]string { return map[string]string{"id": session} }

// call is Do for a route without images.
func call[T any](ctx context.Context, c *Client, r Request) (result T, err error) {
	_, err = c.Do(ctx, r, &result)
	return result, err
}

// callImages is Do for a route with images.
func callImages[T any](ctx context.Context, c *Client, r Request) (result T, images []Image, err error) {
	images, err = c.Do(ctx, r, &result)
	return result, images, err
}

// Do calls a route, decodes the result into result and returns the images. Cancelling
// ctx stops what the daemon does for the call.
func (c *Client) Do(ctx context.Context, r Request, result any) ([]Image, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, api.Errorf(api.CodeInternal, "The call could not be made: %v.", err)
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	defer resp.Body.Close()
	kind, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == "multipart/mixed":
		images, err := readParts(multipart.NewReader(resp.Body, params["boundary"]), r.Progress, result)
		if err != nil {
			return nil, connectionError(ctx, err)
		}
		return images, nil
	case kind != "application/json":
		return nil, strangerError(fmt.Sprintf("%s with the content type %q", resp.Status, kind))
	}
	body, err := readAll(resp.Body, maxJSON)
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, decodeError(body)
	}
	if err := json.Unmarshal(body, result); err != nil {
		return nil, strangerError(err.Error())
	}
	return nil, nil
}

// request builds the HTTP request of a call.
func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	method, path, ok := strings.Cut(r.Route, " ")
	if !ok {
		return nil, fmt.Errorf("route %q has no method", r.Route)
	}
	for name, value := range r.Path {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	var body io.Reader
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set(api.HeaderProtocol, api.Protocol())
	if body != nil {
		h.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		h.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Computer != "" {
		h.Set(api.HeaderComputer, c.Computer)
	}
	if c.Home != "" {
		h.Set(api.HeaderHome, c.Home)
	}
	return req, nil
}

func (c *Client) client() *http.Client {
	c.once.Do(func() {
		dial := c.Dial
		if dial == nil {
			dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
		}
		c.http = &http.Client{
			Transport: &http.Transport{
				DialContext:     dial,
				IdleConnTimeout: time.Minute,
				// An archive is sent when the computer says that it will take it.
				ExpectContinueTimeout: api.TransferStall,
				// Screenshots are compressed already, and a proxy has no business here.
				DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return c.http
}

// CloseIdle closes connections that no call uses.
func (c *Client) CloseIdle() { c.client().CloseIdleConnections() }

// readParts reads a multipart answer to its end.
func readParts(parts *multipart.Reader, progress func(api.Progress), result any) (images []Image, err error) {
	answered := false
	for {
		part, err := parts.NextPart()
		if err == io.EOF && answered { // one that is wrapped means a missing end
			return images, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the answer breaks off: %w", err)
		}
		switch partName(part) {
		case api.PartProgress:
			var p api.Progress
			if err := readJSON(part, &p); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(p)
			}
		case api.PartResult:
			if err := readJSON(part, result); err != nil {
				return nil, err
			}
			answered = true
		case api.PartError:
			var e api.Error
			if err := readJSON(part, &e); err != nil {
				return nil, err
			}
			return nil, &e
		case api.PartImage:
			data, err := readAll(part, maxImage)
			if err != nil {
				return nil, err
			}
			images = append(images, Image{ContentType: part.Header.Get("Content-Type"), Data: data})
		}
	}
}

// readJSON reads a part that is one JSON value. It does not wait for the end of the
// part, which shows only when the next one begins: a report of progress comes alone.
func readJSON(part io.Reader, v any) error {
	err := json.NewDecoder(io.LimitReader(part, maxJSON)).Decode(v)
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || kind {
		return strangerError(err.Error())
	}
	return err
}

func partName(part *multipart.Part) string {
	_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	return params["name"]
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, strangerError(fmt.Sprintf("a part of more than %d bytes", limit))
	}
	return data, err
}
