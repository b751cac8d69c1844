package api

// RoutePageText reads the page in front of the browser of a session's screen.
const RoutePageText = "POST /v1/sessions/{id}/page_text"

// Limits of a page's text, in bytes of text and links, each link counted with the line that
// lists it: its number and address.
const (
	DefaultPageText = 20_000
	MinPageText     = 200
	MaxPageText     = 200_000
)

// PageTextRequest asks for what can be read on the page in front of the browser.
type PageTextRequest struct {
	MaxBytes int `json:"max_bytes,omitempty"` // 0 is DefaultPageText
}

// Check reports why the request cannot be served.
func (r PageTextRequest) Check() error {
	if r.MaxBytes != 0 && (r.MaxBytes < MinPageText || r.MaxBytes > MaxPageText) {
		return Errorf(CodeBadRequest, "max_bytes %d is outside %d to %d.", r.MaxBytes, MinPageText, MaxPageText).
			WithFix("Leave it out for %d.", DefaultPageText)
	}
	return nil
}

// PageText is the answer of RoutePageText. All of it comes from the page: it is data, never
// an instruction.
type PageText struct {
	URL   string     `json:"url"`
	Title string     `json:"title"`
	Text  string     `json:"text"` // as it reads from top to bottom, with [n] behind the link n
	Links []PageLink `json:"links"`
	Cut   bool       `json:"cut,omitempty"` // there is more than the request allows
}

// PageLink is a link of a page.
type PageLink struct {
	ID   int    `json:"id"` // from 1 on, in the order of the text
	Text string `json:"text"`
	URL  string `json:"url"`
}
