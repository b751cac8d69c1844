package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/api"
)

// S0-139: an archive is not sent to a computer that refuses it. Any path and name come
// through the header.
func TestPutArchive(t *testing.T) {
	want := api.PutArchiveRequest{Path: "~/a\x7f\n日本 <&>", Name: []byte("bad\xff\n"), Folder: true}
	var got api.PutArchiveRequest
	var body []byte
	refuse := true
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = api.PutArchiveRequest{}
		if err := json.Unmarshal([]byte(r.Header.Get(api.HeaderRequest)), &got); err != nil {
			t.Error(err)
		}
		if refuse {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"code":"exists","message":"It exists.","fix":"Overwrite."}`)
			return
		}
		body, _ = io.ReadAll(r.Body)
		mixed(true, [3]string{"progress", "application/json", `{"message":"half"}`}, [3]string{"result", "application/json", `{"files":3}`})(w, r)
	})
	packed, reports := 0, 0
	pack := func(w io.Writer) error {
		packed++
		_, err := io.WriteString(w, strings.Repeat("archive ", 100_000))
		return err
	}
	put := func() (api.TransferResult, error) {
		return c.PutArchive(t.Context(), api.NewID(), want, pack, func(api.Progress) { reports++ })
	}
	if _, err := put(); code(err) != api.CodeExists || packed != 0 {
		t.Errorf("%v, packed %d times", err, packed)
	}
	refuse = false
	r, err := put()
	if err != nil || r.Files != 3 || packed != 1 || reports != 1 || len(body) != 800_000 {
		t.Errorf("%+v, %v, packed %d times, %d reports, %d bytes", r, err, packed, reports, len(body))
	}
	if got.Path != want.Path || !bytes.Equal(got.Name, want.Name) || !got.Folder {
		t.Errorf("got %+v", got)
	}
	pack = func(io.Writer) error { return errors.New("the source has gone") }
	if _, err := put(); err == nil {
		t.Error("an archive that breaks off went through")
	}
}

// An archive that breaks off ends in the reason, not in an end of file.
func TestGetArchive(t *testing.T) {
	trailer := ""
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", api.ArchiveType)
		io.WriteString(w, "archive")
		http.NewResponseController(w).Flush()
		if trailer != "" {
			w.Header().Set(http.TrailerPrefix+api.TrailerError, trailer)
		}
	})
	get := func() (string, error) {
		body, err := c.GetArchive(t.Context(), api.NewID(), api.GetArchiveRequest{Path: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		data, err := io.ReadAll(body)
		return string(data), err
	}
	if data, err := get(); err != nil || data != "archive" {
		t.Errorf("%q, %v", data, err)
	}
	trailer = `{"code":"session_ended","message":"It ended.","fix":"Start again."}`
	if data, err := get(); code(err) != api.CodeSessionEnded || data != "archive" {
		t.Errorf("%q, %v", data, err)
	}
}
