//go:build linux

package hostmcp

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/internal/conformance"
)

// The conformance suite judges by tools that its own example server has. Those that a
// tool of ours can be like are rows of the table here, so that what is judged is how
// the table answers: text, pictures, errors, progress.
func conformanceTools() []Tool {
	reply := func(r *Reply, err error) Handler {
		return func(context.Context, *Call) (*Reply, error) { return r, err }
	}
	facts := struct{}{}
	return []Tool{
		{Name: "test_simple_text", NoSession: true, Run: reply(&Reply{Text: "Text.", Structured: facts}, nil)},
		{Name: "test_image_content", NoSession: true, Run: reply(&Reply{Structured: facts, Images: []client.Image{{ContentType: "image/png", Data: []byte{1}}}}, nil)},
		{Name: "test_error_handling", NoSession: true, Run: reply(nil, api.Errorf(api.CodeTimeout, "It took too long."))},
		{Name: "test_streaming_elicitation", NoSession: true, Run: reply(&Reply{Text: "Nothing was asked.", Structured: facts}, nil)},
		{
			Name: "test_tool_with_progress", NoSession: true,
			Run: func(ctx context.Context, c *Call) (*Reply, error) {
				for _, message := range []string{"First.", "Second.", "Third."} {
					c.Progress(message)
					time.Sleep(100 * time.Millisecond) // the suite wants three reports; two at once are one
				}
				return &Reply{Text: "Done.", Structured: facts}, nil
			},
		},
	}
}

// The rest is a matter of the SDK and of how requests reach it.
func addConformanceTools(server *mcp.Server) {
	add := func(name string, run func(ctx context.Context, req *mcp.CallToolRequest) error) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if err := run(ctx, req); err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Done."}}}, nil
			})
	}
	add("test_missing_capability", func(_ context.Context, req *mcp.CallToolRequest) error {
		//lint:ignore SA1019 it is the capability that the suite asks for
		if has := req.ClientCapabilities(); has != nil && has.Sampling != nil {
			return nil
		}
		return &jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Message: "This tool needs sampling.",
			Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
		}
	})
	add("test_logging_tool", func(ctx context.Context, req *mcp.CallToolRequest) error {
		//lint:ignore SA1019 the suite wants to see it refused
		return req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "A message."})
	})
}

// Issue 10, Done when 3: the checks that internal/e2e's TestConformance leaves out,
// because the product has no such tools.
func TestConformanceOfTools(t *testing.T) {
	s := newServer(newFakeComputer(t), nil)
	s.tools = append(s.tools, conformanceTools()...)
	protocol := s.protocol()
	addConformanceTools(protocol)
	web := httptest.NewServer(s.httpHandler(protocol, webToken))
	t.Cleanup(func() {
		s.finish(func() {
			for session := range protocol.Sessions() {
				session.Close()
			}
		})
		web.Close()
	})
	suite := conformance.Suite{Clients: "../internal/e2e/clients", URL: web.URL + HTTPPath, Token: webToken}
	tools := []string{"tools-call-simple-text", "tools-call-image", "tools-call-error", "tools-call-with-progress"}
	for revision, scenarios := range map[string][]string{"2025-11-25": tools, "2026-07-28": append(slices.Clone(tools), "server-stateless")} {
		for _, scenario := range scenarios {
			t.Run(revision+" "+scenario, func(t *testing.T) {
				t.Parallel()
				passed := 0
				for _, check := range suite.Run(t, revision, scenario)[scenario] {
					switch check.Status {
					case "SUCCESS":
						passed++
					case "FAILURE":
						t.Errorf("%s: %s", check.ID, check.Error)
					}
				}
				if passed == 0 {
					t.Error("no check passed")
				}
			})
		}
	}
}
