package hostmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// progressEvery is how often a call that takes long says that it goes on. Clients
// give up after 60 seconds of silence.
const progressEvery = 2 * time.Second

// A call in progress asks every healthEvery whether the daemon still answers, and
// gives up when that takes longer than healthTimeout.
const (
	healthEvery   = 5 * time.Second
	healthTimeout = 5 * time.Second
)

// protocol returns the tool as the SDK wants it.
func (t Tool) protocol() *mcp.Tool {
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: Schema(t.AllFields()),
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent,
			DestructiveHint: &t.Destructive, OpenWorldHint: &t.OpenWorld,
		},
	}
}

// handler returns the SDK's handler of a tool. Whatever goes wrong is a result that
// the model can read, never a protocol error.
func (s *Server) handler(tool Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		reply, err := s.run(ctx, tool, req)
		if err == nil {
			return reply.result(), nil
		}
		if cause := context.Cause(ctx); cause != nil {
			err = because(err, api.Errorf(api.CodeCanceled, "The call ended early: %v.", cause))
		}
		s.log.Debug("tool failed", "tool", tool.Name, "error", err)
		return errorResult(err), nil
	}
}

func (s *Server) run(ctx context.Context, tool Tool, req *mcp.CallToolRequest) (*Reply, error) {
	args, err := clean(tool.Name, tool.AllFields(), req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	call := &Call{Tool: tool, Args: args, server: s, peer: s.peerOf(req.Session)}
	if !tool.NoSession {
		var id struct{ Session string }
		if err := json.Unmarshal(args, &id); err != nil {
			return nil, err
		}
		if err := checkSession(id.Session); err != nil {
			return nil, err
		}
		call.Session = id.Session
		if call.Computer, err = s.current(id.Session); err != nil {
			return nil, err
		}
		var stop func()
		ctx, stop = whileAnswering(ctx, call.Computer)
		defer stop()
	}
	var stop func()
	call.progress, stop = startProgress(ctx, tool.Title, req)
	defer stop()
	leave, err := s.arrivals.wait(ctx, req, tool.Name, call.Session)
	if err != nil {
		return nil, err
	}
	defer leave()
	reply, err := tool.Run(ctx, call)
	if hung, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok && err != nil {
		err = because(err, hung)
	}
	return reply, err
}

// because returns the error of a call that ended for a reason. One that tells the reason
// already may tell more, such as how far a copy got.
func because(err error, reason *api.Error) error {
	if api.AsError(err).Code == reason.Code {
		return err
	}
	return reason
}

// whileAnswering returns a context that ends, with an [api.Error] as its cause, when
// the computer's daemon stops answering, or cannot be asked any more. Without it a call on a daemon that hangs
// would never return. stop ends the watch.
func whileAnswering(ctx context.Context, computer *client.Client) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(healthEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			check, end := context.WithTimeout(ctx, healthTimeout)
			_, err := computer.Health(check)
			end()
			if err == nil || ctx.Err() != nil {
				continue
			}
			reason := api.AsError(err)
			if reason.Code == api.CodeTimeout {
				reason = api.Errorf(api.CodeEngineUnavailable, "The computer's daemon has not answered for %v.", healthTimeout).
					WithFix("Call start_computer. If that fails too, the user has to stop the computer: " +
						"`computer-use-mcp stop` for the local engine, `docker stop` for a container.")
			}
			cancel(reason)
		}
	})
	return ctx, func() { cancel(nil); done.Wait() }
}

// startProgress reports progress every progressEvery, and at once when the message
// changes, if the client asked for it. stop ends that.
func startProgress(ctx context.Context, title string, req *mcp.CallToolRequest) (progress func(string), stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(string) {}, func() {}
	}
	messages := make(chan string, 1)
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		message := title
		for count := 1; ; count++ {
			select {
			case <-ctx.Done():
				return
			case message = <-messages:
			case <-ticker.C:
			}
			// A client that has gone shows by ctx.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(count), Message: message,
			})
		}
	})
	progress = func(message string) {
		select {
		case <-messages: // not sent yet, and out of date
		default:
		}
		select {
		case messages <- message:
		default:
		}
	}
	return progress, func() { cancel(); done.Wait() }
}

// recoverPanic turns a panic into an error: the SDK would let it end the process and
// with it every session.
func (s *Server) recoverPanic(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			s.log.Error("panic", "method", method, "value", p, "stack", string(debug.Stack()))
			fault := api.Errorf(api.CodeInternal, "The server failed in %s: %v.", method, p).
				WithFix("This is a fault of the server, not of the call. Other calls still work.")
			result, err = nil, fmt.Errorf("%s", fault.Message)
			if method == "tools/call" {
				result, err = errorResult(fault), nil
			}
		}()
		return next(ctx, method, req)
	}
}

// whileWanted ends calls when this process has to, or their client has left: the SDK
// waits for handlers, but does not tell them.
func (s *Server) whileWanted(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if session, ok := req.GetSession().(*mcp.ServerSession); ok {
			calls := s.peerOf(session).calls
			defer context.AfterFunc(calls, func() { cancel(context.Cause(calls)) })()
		}
		return next(ctx, method, req)
	}
}

// refuseDisabled explains why a tool that exists cannot be called.
func (s *Server) refuseDisabled(next mcp.MethodHandler) mcp.MethodHandler {
	allowed, _ := s.allowedTools()
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && method == "tools/call" {
			if _, exists := s.tool(call.Name); exists && !isAllowed(allowed, call.Name) {
				return errorResult(api.Errorf(api.CodeDisabledTool, "The tool %s is switched off.", call.Name).
					WithFix("Work without it. The user can allow it in the environment variable %s of this server.", settingTools)), nil
			}
		}
		return next(ctx, method, req)
	}
}
