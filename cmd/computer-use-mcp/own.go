package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// ownClient is a client of an MCP server of this process, which it drives as an agent
// would: through the protocol.
type ownClient struct {
	session *mcp.ClientSession
	shown   *progressLine
	stop    context.CancelFunc
	served  chan error
}

// connect returns a client of a server whose computer is the engine's. Its end is the
// caller's business, so that an interrupted command can still tidy up.
func (a *app) connect(ctx context.Context, name string, e engine.Engine) (*ownClient, error) {
	server := a.server(func(*hostmcp.Settings, *slog.Logger) (engine.Engine, error) { return e, nil }, nil)
	ours, theirs := mcp.NewInMemoryTransports()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &ownClient{shown: a.progressLine(), stop: stop, served: make(chan error, 1)}
	go func() { c.served <- server.Run(serving, ours) }()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: version}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.shown.show(r.Params.Message) },
	})
	var err error
	if c.session, err = client.Connect(ctx, theirs, nil); err != nil {
		_ = c.close() // the error is what counts
		return nil, err
	}
	return c, nil
}

// close ends the server, and with it the sessions that were started.
func (c *ownClient) close() error {
	c.stop()
	err := <-c.served
	if c.session != nil {
		c.session.Close()
	}
	return err
}

// call calls a tool and shows its progress. A refusal is an [api.Error].
func (c *ownClient) call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	c.shown.begin()
	defer c.shown.end()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(tool)
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	if result.IsError {
		refusal := api.Errorf(api.CodeInternal, "%s", text(result))
		if facts, err := json.Marshal(result.StructuredContent); err == nil {
			_ = json.Unmarshal(facts, refusal) // or the text stands
		}
		return result, refusal
	}
	return result, nil
}

// facts calls a tool and reads its structured content into v.
func (c *ownClient) facts(ctx context.Context, tool string, args map[string]any, v any) (*mcp.CallToolResult, error) {
	result, err := c.call(ctx, tool, args)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return nil, err
	}
	return result, json.Unmarshal(data, v)
}

func text(result *mcp.CallToolResult) string {
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			return c.Text
		}
	}
	return "no text"
}

func picture(result *mcp.CallToolResult) *mcp.ImageContent {
	for _, content := range result.Content {
		if c, ok := content.(*mcp.ImageContent); ok {
			return c
		}
	}
	return nil
}
