package files

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/api"
)

// maxPlaces is how many places of a text are named by their lines.
const maxPlaces = 20

// edit replaces an exact text in a file.
func edit(p place, r api.EditFileRequest) (result api.EditFileResult, err error) {
	path, old, err := target(p.path(r.Path))
	if err != nil {
		return result, err
	}
	f, err := openFile(path)
	if err != nil {
		return result, err
	}
	defer f.Close()
	data, err := readAll(f, path)
	if err != nil {
		return result, err
	}
	name, text := show(path), string(data)
	if !utf8.ValidString(text) {
		return result, api.Errorf(api.CodeUnsupported, "%s is not UTF-8 text, and only that is edited.", name).
			WithFix("Convert it with shell first (iconv), or edit it there (sed).")
	}
	places := find(text, r.OldText)
	switch {
	case len(places) == 0:
		return result, absentError(name, text, r.OldText)
	case len(places) > 1 && !r.All:
		return result, api.Errorf(api.CodeBadRequest, "The old_text stands at %d places in %s, in %s.", len(places), name, listLines(text, places)).
			WithFix("Give more of the text around the one that is meant, or set all to replace every one.")
	}
	text, lines := strings.ReplaceAll(text, r.OldText, r.NewText), lineNumbers(text, places)
	if len(text) > api.MaxWriteFile {
		return result, api.Errorf(api.CodeTooLarge, "%s would have %d bytes; a file may have at most %d.", name, len(text), api.MaxWriteFile).
			WithFix("Edit it with shell.")
	}
	result = api.EditFileResult{Path: name, Replaced: len(places), Lines: lines, Bytes: len(text)}
	result.Notes, err = replace(path, old, []byte(text))
	return result, err
}

// find returns where part stands in text, in bytes, as strings.ReplaceAll finds it.
func find(text, part string) []int {
	var places []int
	for at := 0; ; {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return places
		}
		places = append(places, at+i)
		at += i + len(part)
	}
}

// lineNumbers returns the lines of the first places, counted from 1.
func lineNumbers(text string, places []int) []int {
	numbers := []int{}
	line, at := 1, 0
	for _, place := range places[:min(len(places), maxPlaces)] {
		line += strings.Count(text[at:place], "\n")
		at = place
		numbers = append(numbers, line)
	}
	return numbers
}

// listLines says in which lines places are, each line once.
func listLines(text string, places []int) string {
	lines := slices.Compact(lineNumbers(text, places))
	list := "line " + strconv.Itoa(lines[0])
	if len(lines) > 1 {
		list = "the lines " + strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]")
	}
	if len(places) > maxPlaces {
		list += fmt.Sprintf(" and at %d places behind", len(places)-maxPlaces)
	}
	return list
}

// absentError says how the text that was not found differs from what is there, where
// that can be told.
func absentError(name, text, old string) *api.Error {
	e := api.Errorf(api.CodeNotFound, "The old_text does not stand in %s.", name)
	if crlf := strings.ReplaceAll(old, "\n", "\r\n"); crlf != old && strings.Contains(text, crlf) {
		return e.WithFix("The lines of the file end in CR LF: write \\r\\n in old_text and new_text.")
	}
	if line := sameWords(text, old); line > 0 {
		return e.WithFix("Line %d has the same words with other white space. Read it with read_file (offset %d) and give the text exactly.", line, line)
	}
	if line := sameLetters(text, old); line > 0 {
		return e.WithFix("Line %d has it in other case. Give the text exactly.", line)
	}
	return e.WithFix("Read the file again with read_file; it may have changed. The text must be given exactly, with its white space.")
}

// sameWords returns the first line from which on text has the words of old, white space
// aside; 0 for none.
func sameWords(text, old string) int {
	const most = 50 // lines; longer texts are not worth the time
	words := strings.Join(strings.Fields(old), " ")
	span := strings.Count(strings.TrimSpace(old), "\n") + 1
	if words == "" || span > most {
		return 0
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		part := strings.Join(lines[i:min(len(lines), i+span)], "\n")
		if strings.Contains(strings.Join(strings.Fields(part), " "), words) {
			return i + 1
		}
	}
	return 0
}

// sameLetters returns the line at which text has old in other case; 0 for none.
func sameLetters(text, old string) int {
	lower := strings.ToLower(text)
	if at := strings.Index(lower, strings.ToLower(old)); at >= 0 {
		return strings.Count(lower[:at], "\n") + 1
	}
	return 0
}
