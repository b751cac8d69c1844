package daemon

import "github.com/falleng0d/computer-use-mcp/session/browser"

// browsersOf returns the browsers of a computer.
func browsersOf(o Options) *browser.Browsers {
	return browser.New(browser.Config{
		Home: o.HomeDir, User: o.ProgramUser, Env: environ(o),
		OwnSandbox: o.BrowserSandbox,
		Offline:    o.Network == "offline",
		PortBase:   o.DevToolsBase,
		Logger:     o.Logger,
	})
}
