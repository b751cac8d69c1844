package hostmcp

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
)

// appTools open pages, files and applications on a session's screen.
func appTools() []Tool {
	return []Tool{
		{
			Name: "open_path", Title: "Open a page or a file",
			Description: "Show a web page (http or https) or a file of the computer on this session's screen, and answer with the screen once it rests. " +
				"The screen's Chromium shows web pages, HTML, PDF, images, text, JSON and XML; anything else opens in the application that is the default for it. " +
				"Pages keep the logins that the person has in the computer's browsers. To read a file yourself read_file is cheaper.",
			OpenWorld: true,
			Ordered:   true,
			Fields: []Field{
				{Name: "path", Kind: String, Required: true, Doc: "http:// or https:// address, or a file: absolute, relative to the session's folder, or from ~."},
			},
			Run: with(openPath),
		},
		{
			Name: "launch_app", Title: "Start an application",
			Description: "Start an application on this session's screen, or raise its window when it has one, and answer with the screen once it rests.",
			OpenWorld:   true,
			Ordered:     true,
			Fields: []Field{
				{Name: "application", Kind: String, Required: true, Max: api.MaxApplication, Min: 1, Doc: "browser, terminal, the name of an installed application, or a program on PATH."},
				{Name: "uri", Kind: String, Doc: "Address or file to open in it; the browser opens it in a new tab."},
			},
			Run: with(launchApp),
		},
	}
}

func openPath(ctx context.Context, c *Call, args api.OpenPathRequest) (*Reply, error) {
	if err := args.Check(); err != nil {
		return nil, err
	}
	result, images, err := c.Computer.OpenPath(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	return &Reply{Text: observationText(result), Structured: result, Images: images}, nil
}

func launchApp(ctx context.Context, c *Call, args api.LaunchAppRequest) (*Reply, error) {
	if err := args.Check(); err != nil {
		return nil, err
	}
	result, images, err := c.Computer.LaunchApp(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	return &Reply{Text: observationText(result), Structured: result, Images: images}, nil
}
