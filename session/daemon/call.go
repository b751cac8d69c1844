package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session"
)

// call is one request and the answer to it.
type call struct {
	r      *http.Request
	w      http.ResponseWriter
	most   body              // that the request may have
	images []session.Image   // of a mixed answer
	parts  *multipart.Writer // nil until the first part is sent
	began  bool              // an answer of another form than parts has begun
}

// decode reads the request's JSON body into v. Unknown fields are refused by name. An
// empty body is an empty object.
func (c *call) decode(v any) error {
	deadline := http.NewResponseController(c.w)
	deadline.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(c.most)))
	// The body was read to its end and the deadline is lifted: from here on the
	// server watches the connection and cancels the request when the caller hangs up.
	deadline.SetReadDeadline(time.Time{})
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return api.Errorf(api.CodeTooLarge, "The request is larger than %d bytes.", c.most)
	}
	if err != nil {
		return api.Errorf(api.CodeBadRequest, "The request could not be read: %v.", err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return decodeJSON(body, v)
}

// decodeJSON decodes exactly one JSON object.
func decodeJSON(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, err := dec.Token(); err != io.EOF {
			return api.Errorf(api.CodeBadRequest, "The request has something after its JSON object.")
		}
		return nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return api.Errorf(api.CodeBadRequest, "The field %s is unknown.", name).
			WithFix("Leave it out, or check its spelling. If the server sent it by itself, the computer is of an older version: " +
				"ask the user to bring its image up to date and to stop it, then call start_computer.")
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return api.Errorf(api.CodeBadRequest, "The field %q has a value of the wrong kind: %s instead of %s.", e.Field, e.Value, e.Type)
	}
	return api.Errorf(api.CodeBadRequest, "The request is not the JSON object expected here: %v.", err)
}

// progress sends a report at once. A caller that is gone shows by the request's
// context, so a failed write is no news.
func (c *call) progress(p api.Progress) {
	c.part(api.PartProgress, p)
	http.NewResponseController(c.w).Flush()
}

// finish sends the result and the images of a mixed answer.
func (c *call) finish(result any) {
	c.part(api.PartResult, result)
	for _, image := range c.images {
		c.rawPart(api.PartImage, image.ContentType, image.Data)
	}
	c.parts.Close()
}

// fail answers with an error, in the form that what was sent before allows.
func (c *call) fail(e *api.Error) {
	if c.parts == nil {
		writeError(c.w, statusOf(e.Code), e)
		return
	}
	c.part(api.PartError, e)
	c.parts.Close()
}

func (c *call) part(name string, v any) {
	c.rawPart(name, "application/json", encode(v))
}

func (c *call) rawPart(name, contentType string, data []byte) {
	limitWrite(c.w)
	if c.parts == nil {
		c.parts = multipart.NewWriter(c.w)
		c.w.Header().Set("Content-Type", mime.FormatMediaType("multipart/mixed", map[string]string{"boundary": c.parts.Boundary()}))
		c.w.WriteHeader(http.StatusOK)
	}
	w, err := c.parts.CreatePart(textproto.MIMEHeader{
		"Content-Type":        {contentType},
		"Content-Disposition": {mime.FormatMediaType("inline", map[string]string{"name": name})},
	})
	if err == nil {
		_, _ = w.Write(data) // an error shows by the request's context
	}
}

func writeError(w http.ResponseWriter, status int, e *api.Error) { writeJSON(w, status, e) }

// limitWrite gives the caller writeTimeout for what is written next. It comes before every
// write: what is left of the limit before counts on, also for the connection's next answer.
func limitWrite(w http.ResponseWriter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	limitWrite(w)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(encode(v), '\n'))
}

// encode returns v as JSON. All values of this API can be encoded.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode answer: %v", err))
	}
	return data
}

// statusOf returns the HTTP status of a refusal. Clients go by the code; the status
// is for logs and tools.
func statusOf(code api.Code) int {
	switch code {
	case api.CodeBadRequest, api.CodeNotAFolder, api.CodeIsAFolder, api.CodeUnsupported, api.CodeVersionMismatch:
		return http.StatusBadRequest
	case api.CodePermissionDenied, api.CodeDisabledTool:
		return http.StatusForbidden
	case api.CodeUnknownSession, api.CodeNotFound:
		return http.StatusNotFound
	case api.CodeSessionEnded:
		return http.StatusGone
	case api.CodeHumanInControl, api.CodeLoopRefused, api.CodeExists, api.CodeComputerMismatch:
		return http.StatusConflict
	case api.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case api.CodeNoFreeScreen, api.CodeBusy, api.CodeScreenFailed, api.CodeComputerStopped:
		return http.StatusServiceUnavailable
	case api.CodeTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
