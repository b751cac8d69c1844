package hostmcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// sessionTools open and end sessions.
func sessionTools() []Tool {
	return []Tool{
		{
			Name: "start_computer", Title: "Start the computer",
			Description: "Open a session on the shared Linux computer, starting the computer first if it does not run " +
				"(that can take a while). Returns the session id that every other tool needs, and a viewer link for the person. " +
				"Call it once per task; each session has its own screen, and all sessions share the computer's files.",
			NoSession: true,
			OpenWorld: true,
			Fields: []Field{{
				Name: "title", Kind: String, Required: true, Max: api.MaxTitle, Min: 1,
				Doc: "What the session is for, shown to the person watching.",
			}},
			Run: with(startComputer),
		},
		{
			Name: "end_session", Title: "End the session",
			Description: "End a session when its task is done. Its screen and the programs on it are closed, calls in progress are cancelled; files stay.",
			Destructive: true,
			Run:         endSession,
		},
	}
}

func startComputer(ctx context.Context, c *Call, args struct{ Title string }) (*Reply, error) {
	title, err := api.CleanTitle(args.Title)
	if err != nil {
		return nil, err
	}
	if _, err := c.server.allowedTools(); err != nil {
		return nil, err
	}
	request := api.StartRequest{Title: title, Owner: c.peer.owner}
	if err := c.server.settings.startRequest(&request); err != nil {
		return nil, err
	}
	computer, notes, err := c.server.ensure(ctx, c.Progress)
	if err != nil {
		return nil, err
	}
	c.server.keepAlive(c.peer)
	c.Progress("Opening a session.")
	result, err := computer.Start(ctx, request)
	if err != nil {
		return nil, err
	}
	c.server.showScreen(computer, result.Session)
	result.Notes = append(append([]string{}, notes...), result.Notes...)
	text := fmt.Sprintf("Session %s is open (%q). Pass it to the other tools; computer_observe shows its screen.", result.Session, title)
	if result.Viewer != "" {
		text += "\nThe person can watch and take over at " + result.Viewer
	}
	return &Reply{
		Text: strings.Join(append([]string{text}, result.Notes...), "\n"),
		Structured: struct {
			api.StartResult
			Engine string `json:"engine"`
		}{result, c.server.engineName()},
	}, nil
}

func endSession(ctx context.Context, c *Call) (*Reply, error) {
	result, err := c.Computer.End(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	return &Reply{Text: "The session has ended. Files in the computer's home are still there.", Structured: result}, nil
}
