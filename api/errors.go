package api

import (
	"errors"
	"fmt"
	"slices"
)

// Code names a kind of refusal. The list is closed: clients may switch on it.
type Code string

// The codes.
const (
	CodeBadRequest        Code = "bad_request"
	CodeUnknownSession    Code = "unknown_session"
	CodeSessionEnded      Code = "session_ended"
	CodeNoFreeScreen      Code = "no_free_screen"
	CodeHumanInControl    Code = "human_in_control"
	CodeLoopRefused       Code = "loop_refused"
	CodeScreenFailed      Code = "screen_failed"
	CodeBusy              Code = "busy"
	CodeTimeout           Code = "timeout"
	CodeCanceled          Code = "canceled"
	CodeTooLarge          Code = "too_large"
	CodeNotFound          Code = "not_found"
	CodeExists            Code = "exists"
	CodeNotAFolder        Code = "not_a_folder"
	CodeIsAFolder         Code = "is_a_folder"
	CodePermissionDenied  Code = "permission_denied"
	CodeUnsupported       Code = "unsupported"
	CodeDisabledTool      Code = "disabled_tool"
	CodeEngineUnavailable Code = "engine_unavailable"
	CodeImageMissing      Code = "image_missing"
	CodePortTaken         Code = "port_taken"
	CodeComputerStopped   Code = "computer_stopped"
	CodeComputerMismatch  Code = "computer_mismatch"
	CodeVersionMismatch   Code = "version_mismatch"
	CodeInternal          Code = "internal"
)

// Error is the one form of a refusal, on the wire and as a tool's structured
// content. Message says what happened with the value that caused it, Fix what to
// do next; both are written for a model.
type Error struct {
	Code      Code   `json:"code"`
	Message   string `json:"message"`
	Fix       string `json:"fix"`
	Retryable bool   `json:"retryable"`
}

// Error returns the message and the fix as text.
func (e *Error) Error() string {
	if e.Fix == "" { // from another version
		return e.Message
	}
	return e.Message + " " + e.Fix
}

// Errorf returns an Error with the fix that [Codes] has for its code. Where a better one
// is known, [Error.WithFix] gives it.
func Errorf(code Code, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if i := slices.IndexFunc(Codes, func(c CodeInfo) bool { return c.Code == code }); i >= 0 {
		e.Fix = Codes[i].Do
	}
	return e
}

// WithFix returns e with another fix.
func (e *Error) WithFix(format string, args ...any) *Error {
	e.Fix = fmt.Sprintf(format, args...)
	return e
}

// WithRetry returns e marked as worth trying again unchanged.
func (e *Error) WithRetry() *Error {
	e.Retryable = true
	return e
}

// AsError returns the Error that err is or wraps. Any other error becomes one of
// CodeInternal, so that nothing leaves without a code.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(CodeInternal, "%v", err).WithFix("This is a fault of the product, not of the call; the daemon's log says more.")
}
