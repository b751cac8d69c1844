package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
)

// ripgrep searches with rg. It reads rg's own form of results (--json), which holds
// names and lines of any bytes.
func (s *searcher) ripgrep(ctx context.Context, rg string, r api.SearchFilesRequest) error {
	args := []string{"--no-config", "--no-messages", "--crlf", "--sort=path"}
	if r.Glob != "" {
		args = append(args, "--glob="+r.Glob)
	}
	if s.names {
		args = append(args, "--files", "--null")
	} else {
		args = append(args, "--json", "--regexp="+r.Pattern)
		if r.IgnoreCase {
			args = append(args, "--ignore-case")
		}
	}
	// Globs with a slash count from the folder that rg runs in.
	dir, path := s.root, "."
	if info, err := os.Stat(s.root); err == nil && !info.IsDir() {
		dir, path = filepath.Dir(s.root), filepath.Base(s.root)
	}
	cmd := exec.CommandContext(ctx, rg, append(args, "--", path)...)
	cmd.Dir = dir
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	in := bufio.NewReaderSize(out, 64<<10)
	if s.names {
		err = s.readNames(in, dir)
	} else {
		err = s.readMatches(in, dir)
	}
	if err != nil {
		cmd.Process.Kill()
	}
	waitErr := cmd.Wait()
	if err != nil || ctx.Err() != nil {
		return err
	}
	// 1 is nothing found, 2 is trouble, which a folder that is closed to us is too.
	if exit, ok := errors.AsType[*exec.ExitError](waitErr); ok && (exit.ExitCode() == 1 || words.Len() == 0) {
		return nil
	}
	if waitErr != nil {
		return errors.New(strings.TrimSpace(words.String()))
	}
	return nil
}

// readNames reads names that end in NUL and count from dir.
func (s *searcher) readNames(in *bufio.Reader, dir string) error {
	for {
		name, err := in.ReadString(0)
		if err != nil {
			return nil
		}
		if err := s.add(filepath.Join(dir, strings.TrimSuffix(name, "\x00")), 0, nil); err != nil {
			return err
		}
	}
}

// text is a string of rg's, or bytes in base64 when it is no UTF-8.
type text struct {
	Text  string
	Bytes []byte
}

func (t text) bytes() []byte {
	if t.Bytes != nil {
		return t.Bytes
	}
	return []byte(t.Text)
}

// readMatches reads messages, one a line, whose paths count from dir.
func (s *searcher) readMatches(in *bufio.Reader, dir string) error {
	dec := json.NewDecoder(in)
	for {
		var m struct {
			Type string
			Data struct {
				Path, Lines text
				LineNumber  int `json:"line_number"`
			}
		}
		if err := dec.Decode(&m); err != nil {
			return nil // the end, or rg was killed; its exit tells
		}
		if m.Type != "match" {
			continue
		}
		if err := s.add(filepath.Join(dir, string(m.Data.Path.bytes())), m.Data.LineNumber, m.Data.Lines.bytes()); err != nil {
			return err
		}
	}
}
