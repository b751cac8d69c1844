package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/clip"
)

// search finds lines by a pattern, or files by their names. Hidden files and binary
// ones are left out, unless they are named. ripgrep does it where it is installed, and
// then also leaves out what .gitignore names.
func search(p place, r api.SearchFilesRequest) (result api.SearchFilesResult, err error) {
	root := p.path(r.Path)
	info, err := os.Stat(root)
	if err != nil {
		return result, pathError("search", root, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return result, specialError(show(root), info.Mode())
	}
	expr := r.Pattern
	if r.IgnoreCase {
		expr = "(?i)" + expr
	}
	pattern, err := regexp.Compile(expr)
	if err != nil {
		return result, api.Errorf(api.CodeBadRequest, "The pattern is no regular expression: %v.", err).
			WithFix("Put a backslash before characters that are meant as they are, such as ( [ { . * +.")
	}
	glob, err := compileGlob(r.Glob)
	if err != nil {
		return result, api.Errorf(api.CodeBadRequest, "The glob %q is not understood: %v.", r.Glob, err).
			WithFix("Use *, ?, [abc], {a,b} and **, as in src/**/*.go.")
	}
	ctx, cancel := context.WithTimeout(context.Background(), api.MaxSearchTime)
	defer cancel()
	s := &searcher{root: root, shown: r.Path, pattern: pattern, glob: glob, names: r.Pattern == "", matches: []api.SearchMatch{}}
	if rg, lookErr := exec.LookPath("rg"); lookErr == nil {
		err = s.ripgrep(ctx, rg, r)
	} else {
		err = s.walk(ctx)
	}
	result = api.SearchFilesResult{Path: show(root), Matches: s.matches}
	switch {
	case errors.Is(err, errFull):
		result.Cut = true
		result.Notes = append(result.Notes, "There may be more matches. Narrow the search with path, glob or a longer pattern.")
	case ctx.Err() != nil:
		result.Cut = true
		result.Notes = append(result.Notes, "The search took too long and was ended. Search a smaller folder.")
	case err != nil:
		return result, api.Errorf(api.CodeUnsupported, "The search did not work: %v.", err).WithFix("Search with grep in shell.")
	}
	return result, nil
}

// errFull ends a search that has found enough.
var errFull = errors.New("enough matches")

// searcher collects what one search finds.
type searcher struct {
	root    string // absolute
	shown   string // as the agent gave it, empty for its folder
	pattern *regexp.Regexp
	glob    *regexp.Regexp // nil is all
	names   bool           // look for files, not for lines
	matches []api.SearchMatch
}

// add adds a match in a file below root. line is 0 for the file itself.
func (s *searcher) add(file string, line int, text []byte) error {
	if len(s.matches) == api.MaxMatches {
		return errFull
	}
	path := s.shown
	if rel, err := filepath.Rel(s.root, file); err == nil && rel != "." {
		path = filepath.Join(s.shown, rel)
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) > api.MaxMatchLine {
		text = append(bytes.Clone(clip.WholeCharacters(text[:api.MaxMatchLine])), "..."...)
	}
	s.matches = append(s.matches, api.SearchMatch{Path: show(path), Line: line, Text: strings.ToValidUTF8(string(text), "\uFFFD")})
	return nil
}

// walk searches without help.
func (s *searcher) walk(ctx context.Context) error {
	return filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // a folder that is closed to us
		case path != s.root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.Type()&fs.ModeSymlink != 0 && path == s.root:
			// Only a link that was named is followed.
		case !d.Type().IsRegular():
			return nil
		}
		if rel, err := filepath.Rel(s.root, path); err == nil && path != s.root && s.glob != nil && !s.glob.MatchString(rel) {
			return nil
		}
		if s.names {
			return s.add(path, 0, nil)
		}
		return s.searchFile(ctx, path)
	})
}

// searchFile adds the lines of a file that match. A binary file has none.
func (s *searcher) searchFile(ctx context.Context, path string) error {
	f, err := openFile(path)
	if err != nil {
		return nil // it is gone, or closed to us
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	if head, _ := in.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	for number := 1; ctx.Err() == nil; number++ {
		line, err := readLine(in)
		if len(line) > 0 && s.pattern.Match(bytes.TrimRight(line, "\r\n")) {
			if err := s.add(path, number, line); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
	return ctx.Err()
}

// readLine returns the next line, or the first part of a very long one.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return line, err
}

// compileGlob makes a regular expression of a glob, nil of an empty one. A glob without
// a slash is about the name alone, in whatever folder.
func compileGlob(glob string) (*regexp.Regexp, error) {
	if glob == "" {
		return nil, nil
	}
	var b strings.Builder
	b.WriteString("^")
	if !strings.Contains(glob, "/") {
		b.WriteString("(?:.*/)?")
	}
	glob = strings.TrimPrefix(glob, "/")
	braces := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			switch {
			case strings.HasPrefix(glob[i:], "**/"):
				b.WriteString("(?:.*/)?")
				i += 2
			case strings.HasPrefix(glob[i:], "**"):
				b.WriteString(".*")
				i++
			default:
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			class, length := globClass(glob[i:])
			if length == 0 {
				return nil, errors.New("a [ has no ]")
			}
			b.WriteString(class)
			i += length - 1
		case '{':
			braces++
			b.WriteString("(?:")
		case '}':
			if braces == 0 {
				return nil, errors.New("a } has no {")
			}
			braces--
			b.WriteString(")")
		case ',':
			if braces > 0 {
				b.WriteString("|")
			} else {
				b.WriteString(",")
			}
		case '\\':
			if i++; i == len(glob) {
				return nil, errors.New("it ends in a backslash")
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	if braces > 0 {
		return nil, errors.New("a { has no }")
	}
	return regexp.Compile("(?s)" + b.String() + "$")
}

// globClass returns the regular expression of the character class that a glob begins
// with, and the length of that in the glob in bytes, 0 when it has no end.
func globClass(glob string) (class string, length int) {
	end := strings.IndexByte(glob[1:], ']') + 1
	if end < 2 { // there is no end, or nothing before it
		return "", 0
	}
	class = strings.ReplaceAll(glob[1:end], `\`, `\\`)
	if rest, ok := strings.CutPrefix(class, "!"); ok {
		class = "^" + rest
	}
	return "[" + class + "]", end + 1
}
