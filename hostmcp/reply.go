package hostmcp

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
)

// maxResult bounds one result in bytes, images before base64. Some clients close the
// connection for good at 10 MiB of JSON, and base64 adds a third.
const maxResult = 7 << 20

// Reply is the result of a tool: text for the model, the same facts as a JSON object,
// and pictures.
type Reply struct {
	Text       string
	Structured any
	Images     []client.Image
	// Failed says that the call did not do what it should, although there are facts to
	// tell. Structured then has the fields of an [api.Error] too.
	Failed bool
}

// result makes the protocol's form of the reply. Pictures that would make it larger
// than maxResult are left out, the first ones first, and the text says so.
func (r *Reply) result() *mcp.CallToolResult {
	facts, err := json.Marshal(r.Structured)
	if err != nil {
		return errorResult(err)
	}
	left := maxResult - len(r.Text) - len(facts)
	if left < 0 {
		return errorResult(api.Errorf(api.CodeTooLarge, "The result has %d bytes, which is more than clients accept.", maxResult-left).
			WithFix("Ask for less at once."))
	}
	first := len(r.Images)
	for first > 0 && len(r.Images[first-1].Data) <= left {
		first--
		left -= len(r.Images[first].Data)
	}
	text := r.Text
	if first > 0 {
		text += fmt.Sprintf("\n%d of %d pictures were left out, because the result would be larger than clients accept. "+
			"Ask for a region, a smaller max_side, or the format jpeg.", first, len(r.Images))
	}
	content := []mcp.Content{&mcp.TextContent{Text: text}}
	for _, image := range r.Images[first:] {
		content = append(content, &mcp.ImageContent{MIMEType: image.ContentType, Data: image.Data})
	}
	return &mcp.CallToolResult{IsError: r.Failed, Content: content, StructuredContent: json.RawMessage(facts)}
}

// errorResult is the one form of every failure of a tool.
func errorResult(err error) *mcp.CallToolResult {
	e := api.AsError(err)
	return &mcp.CallToolResult{
		IsError:           true,
		Content:           []mcp.Content{&mcp.TextContent{Text: e.Error()}},
		StructuredContent: e,
	}
}
