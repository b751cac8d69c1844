package hostmcp

import (
	"context"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// waitTools wait for the screen, the computer or a person, and say how to wait.
func waitTools() []Tool {
	return []Tool{
		{
			Name: "computer_wait", Title: "Wait for the screen",
			Description: "Wait until a condition holds, then answer with the screen: still (the screen, or the region, has come to rest), " +
				"change (something changes there), window (a window's title contains the text), file (the path exists on the computer) " +
				"or port (something listens on that port of the computer). Use it for what takes longer than an action: pages that load, " +
				"installations, downloads. That the time ran out is an answer, not an error.",
			ReadOnly:   true,
			Idempotent: true,
			Ordered:    true,
			Fields: []Field{
				{Name: "for", Kind: String, Enum: []string{api.WaitStill, api.WaitChange, api.WaitWindow, api.WaitFile, api.WaitPort}, Doc: "Default still."},
				regionField("Watch only this part of the screen, in screen pixels; for still and change."),
				{Name: "title", Kind: String, Doc: "Part of the window's title, in any case; for window."},
				{Name: "path", Kind: String, Doc: "For file: absolute, relative to the session's folder, or from ~."},
				{Name: "port", Kind: Integer, Min: 1, Max: 65535, Doc: "TCP port of the computer's localhost; for port."},
				{Name: "timeout_ms", Kind: Integer, Min: 0, Max: milliseconds(api.MaxWaitTimeout), Doc: "Give up after this long; 0 looks once. Default 10000."},
			},
			Run: with(wait),
		},
		{
			Name: "computer_configure", Title: "Configure waiting",
			Description: "Set how this session decides that the screen has reacted to an action and is still again. What you set stays set; " +
				"fields that you leave out stay as they are. Needed only when an application is slower than usual or a part of the screen " +
				"never rests. Returns the values in force.",
			Idempotent: true,
			Ordered:    true,
			Fields: []Field{
				durationField("quiet_ms", api.MinQuiet, api.MaxQuiet, "How long the screen must rest. Default 200."),
				durationField("react_ms", api.MinReact, api.MaxReact, "How long to wait for a first change. Default 300."),
				durationField("max_wait_ms", api.MinSettle, api.MaxSettle, "The end of every wait after an action. Default 8000."),
				durationField("residual_bail_ms", api.MinResidualBail, api.MaxResidualBail, "When to leave a part of the screen alone that keeps moving. Default 1500."),
				{
					Name: "ignore_regions", Kind: Array, Max: api.MaxIgnored,
					Doc:  "Parts of the screen, in screen pixels, whose changes count for nothing. Replaces the list; [] clears it, with the parts found automatically.",
					Item: &Field{Kind: Object, Fields: regionFields},
				},
			},
			Run: with(configure),
		},
		{
			Name: "request_human", Title: "Ask a person to take over",
			Description: "Ask the person who watches this session's screen to take over for a step that is theirs, such as a login, a captcha " +
				"or a payment, and wait until they hand back, decline or do not answer in time. Answers with the screen.",
			Fields: []Field{
				{Name: "reason", Kind: String, Required: true, Min: 1, Max: api.MaxReason, Doc: "What the person should do, in a sentence or two."},
				{Name: "timeout_ms", Kind: Integer, Min: 0, Max: milliseconds(api.MaxHumanTimeout), Doc: "How long to wait for an answer. Default 300000."},
			},
			Run: with(requestHuman),
		},
	}
}

func wait(ctx context.Context, c *Call, args api.WaitRequest) (*Reply, error) {
	result, images, err := c.Computer.Wait(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	return &Reply{Text: waitText(args, result), Structured: result, Images: images}, nil
}

func configure(ctx context.Context, c *Call, args api.ConfigureRequest) (*Reply, error) {
	result, err := c.Computer.Configure(ctx, c.Session, args)
	if err != nil {
		return nil, err
	}
	return &Reply{Text: settleText(result), Structured: result}, nil
}

func requestHuman(ctx context.Context, c *Call, args api.HumanRequest) (*Reply, error) {
	result, images, err := c.Computer.RequestHuman(ctx, c.Session, args, func(p api.Progress) { c.Progress(p.Message) })
	if err != nil {
		return nil, err
	}
	return &Reply{Text: humanResultText(result), Structured: result, Images: images}, nil
}

func durationField(name string, least, most time.Duration, doc string) Field {
	return Field{Name: name, Kind: Integer, Min: milliseconds(least), Max: milliseconds(most), Doc: doc}
}

func milliseconds(d time.Duration) int { return int(d.Milliseconds()) }
