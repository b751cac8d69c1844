package client

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
)

// OpenPath shows a page or a file on the session's screen.
func (c *Client) OpenPath(ctx context.Context, session string, r api.OpenPathRequest) (api.Observation, []Image, error) {
	return callImages[api.Observation](ctx, c, Request{Route: api.RouteOpenPath, Path: id(session), Body: r})
}

// LaunchApp starts an application on the session's screen, or raises its window.
func (c *Client) LaunchApp(ctx context.Context, session string, r api.LaunchAppRequest) (api.Observation, []Image, error) {
	return callImages[api.Observation](ctx, c, Request{Route: api.RouteLaunchApp, Path: id(session), Body: r})
}

// StartDevTools attaches chrome-devtools-mcp to the browser of the session's screen.
func (c *Client) StartDevTools(ctx context.Context, session string, r api.StartDevToolsRequest) (api.StartDevToolsResult, error) {
	return call[api.StartDevToolsResult](ctx, c, Request{Route: api.RouteStartDevTools, Path: id(session), Body: r})
}

// StopDevTools ends what StartDevTools has started.
func (c *Client) StopDevTools(ctx context.Context, session string) (api.StopDevToolsResult, error) {
	return call[api.StopDevToolsResult](ctx, c, Request{Route: api.RouteStopDevTools, Path: id(session), Body: struct{}{}})
}

// PageText reads the page in front of the browser of the session's screen.
func (c *Client) PageText(ctx context.Context, session string, r api.PageTextRequest) (api.PageText, error) {
	return call[api.PageText](ctx, c, Request{Route: api.RoutePageText, Path: id(session), Body: r})
}
