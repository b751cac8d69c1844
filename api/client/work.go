package client

import (
	"context"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Shell runs a command. Cancelling ctx ends it with everything that it has started.
func (c *Client) Shell(ctx context.Context, session string, r api.ShellRequest) (api.ShellResult, error) {
	return call[api.ShellResult](ctx, c, Request{Route: api.RouteShell, Path: id(session), Body: r})
}

// SetCwd changes the session's folder.
func (c *Client) SetCwd(ctx context.Context, session string, r api.SetCwdRequest) (api.SetCwdResult, error) {
	return call[api.SetCwdResult](ctx, c, Request{Route: api.RouteSetCwd, Path: id(session), Body: r})
}

// JobOutput reads what a job has written.
func (c *Client) JobOutput(ctx context.Context, session string, r api.JobOutputRequest) (api.JobOutput, error) {
	return call[api.JobOutput](ctx, c, Request{Route: api.RouteJobOutput, Path: id(session), Body: r})
}

// JobStop ends a job.
func (c *Client) JobStop(ctx context.Context, session string, r api.JobRequest) (api.Job, error) {
	return call[api.Job](ctx, c, Request{Route: api.RouteJobStop, Path: id(session), Body: r})
}

// JobList lists jobs.
func (c *Client) JobList(ctx context.Context, session string) (api.JobList, error) {
	return call[api.JobList](ctx, c, Request{Route: api.RouteJobList, Path: id(session)})
}

// ListFiles lists a folder.
func (c *Client) ListFiles(ctx context.Context, session string, r api.ListFilesRequest) (api.ListFilesResult, error) {
	return call[api.ListFilesResult](ctx, c, Request{Route: api.RouteListFiles, Path: id(session), Body: r})
}

// ReadFile reads a text, or an image, which then is the one image.
func (c *Client) ReadFile(ctx context.Context, session string, r api.ReadFileRequest) (api.ReadFileResult, []Image, error) {
	return callImages[api.ReadFileResult](ctx, c, Request{Route: api.RouteReadFile, Path: id(session), Body: r})
}

// WriteFile replaces a file as a whole.
func (c *Client) WriteFile(ctx context.Context, session string, r api.WriteFileRequest) (api.WriteFileResult, error) {
	return call[api.WriteFileResult](ctx, c, Request{Route: api.RouteWriteFile, Path: id(session), Body: r})
}

// EditFile replaces an exact text in a file.
func (c *Client) EditFile(ctx context.Context, session string, r api.EditFileRequest) (api.EditFileResult, error) {
	return call[api.EditFileResult](ctx, c, Request{Route: api.RouteEditFile, Path: id(session), Body: r})
}

// SearchFiles looks for lines, or for files by name.
func (c *Client) SearchFiles(ctx context.Context, session string, r api.SearchFilesRequest) (api.SearchFilesResult, error) {
	return call[api.SearchFilesResult](ctx, c, Request{Route: api.RouteSearchFiles, Path: id(session), Body: r})
}

// Clipboard reads or replaces the clipboard text of the session's screen.
func (c *Client) Clipboard(ctx context.Context, session string, r api.ClipboardRequest) (api.ClipboardResult, error) {
	return call[api.ClipboardResult](ctx, c, Request{Route: api.RouteClipboard, Path: id(session), Body: r})
}
