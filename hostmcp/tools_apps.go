package hostmcp

import (
	"context"
	"fmt"
	"strings"

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
				{Name: "application", Kind: String, Required: true, Max: api.MaxApplication, Min: 1, Doc: "browser, terminal, the name of an installed application, or a program on PATH or by its path."},
				{Name: "uri", Kind: String, Doc: "Address or file to open in it; the browser opens it in a new tab."},
			},
			Run: with(launchApp),
		},
		{
			Name: "start_chrome_devtools", Title: "Start Chrome DevTools",
			Description: "Attach chrome-devtools-mcp to the Chromium of this session's screen, starting the browser when none runs. Its tools are then called through shell " +
				"with mcpc; the answer says how. Use it for what a picture does not show: the accessibility tree, scripts, the console, network requests. " +
				"It takes some 330 MB while it is used; when it is not, it ends by itself, and the next call starts it again.",
			OpenWorld:  true,
			Idempotent: true,
			Ordered:    true,
			Run:        startDevTools,
		},
		{
			Name: "stop_chrome_devtools", Title: "Stop Chrome DevTools",
			Description: "End what start_chrome_devtools has started, at once. The browser and its pages stay.",
			Idempotent:  true,
			Ordered:     true,
			Run:         stopDevTools,
		},
	}
}

func openPath(ctx context.Context, c *Call, args api.OpenPathRequest) (*Reply, error) {
	return observed(c.Computer.OpenPath(ctx, c.Session, args))
}

func launchApp(ctx context.Context, c *Call, args api.LaunchAppRequest) (*Reply, error) {
	return observed(c.Computer.LaunchApp(ctx, c.Session, args))
}

func startDevTools(ctx context.Context, c *Call) (*Reply, error) {
	idle, err := c.server.settings.duration(settingDevToolsIdle)
	if err != nil {
		return nil, err
	}
	c.Progress("Starting Chrome DevTools.")
	result, err := c.Computer.StartDevTools(ctx, c.Session, api.StartDevToolsRequest{IdleMS: idle.Milliseconds()})
	if err != nil {
		return nil, err
	}
	mcpc, _, _ := strings.Cut(result.Command, " tools-call")
	return &Reply{
		Text: fmt.Sprintf("chrome-devtools-mcp is attached to the Chromium of this session's screen. Call its tools through shell:\n"+
			"%[1]s\n"+
			"Begin with %[2]s tools-call list_pages; every other tool needs a pageId from it:\n"+
			"%[2]s tools-call take_snapshot '{\"pageId\":1}'\n"+
			"Among the tools are list_pages, take_snapshot, navigate_page, evaluate_script, list_console_messages, list_network_requests and take_screenshot; "+
			"%[2]s tools-list names all, %[2]s tools-get <tool> its arguments. "+
			"The exit status is 0 also when a tool failed: read what it says. A call takes about a second, the first one five; "+
			"on a busy computer it may say that the bridge failed to start: call again then. "+
			"After %[3]v without a call it ends itself and frees its memory; the next call starts it again, and the pages stay. "+
			"stop_chrome_devtools ends it at once.", result.Command, mcpc, idle),
		Structured: result,
	}, nil
}

func stopDevTools(ctx context.Context, c *Call) (*Reply, error) {
	result, err := c.Computer.StopDevTools(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	text := "Chrome DevTools has ended. The browser and its pages are still there."
	if !result.Stopped {
		text = "Chrome DevTools was not running."
	}
	return &Reply{Text: text, Structured: result}, nil
}
