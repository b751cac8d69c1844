package client

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
)

// PageText reads the page in front of the browser of the session's screen.
func (c *Client) PageText(ctx context.Context, session string, r api.PageTextRequest) (api.PageText, error) {
	return call[api.PageText](ctx, c, Request{Route: api.RoutePageText, Path: id(session), Body: r})
}
