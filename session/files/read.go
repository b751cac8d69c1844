package files

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/clip"
)

// read reads a text or an image.
func read(p place, r api.ReadFileRequest) (any, error) {
	path := p.path(r.Path)
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, path)
	if err != nil {
		return nil, err
	}
	result := api.ReadFileResult{Path: show(path), Size: int64(len(data))}
	if format := imageFormat(data); format != "" {
		return readImage(result, format, data)
	}
	text, encoding, ok := decode(data)
	if !ok {
		return nil, api.Errorf(api.CodeUnsupported, "%s is binary: it is no text in UTF-8, UTF-16 or Latin-1, and no PNG or JPEG.", result.Path).
			WithFix("Look at it with shell (file, xxd, strings), convert it there, or copy it to the host with file_transfer.")
	}
	return readText(result, r, text, encoding)
}

// openFile opens a regular file for reading. It never waits for what is at the other
// end of a pipe or a device, nor disturbs it.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, pathError("read", path, err)
	}
	var f *os.File
	if info.Mode().IsRegular() {
		if f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
			return nil, pathError("read", path, err)
		}
		// What was opened counts, not what was there before.
		if info, err = f.Stat(); err != nil {
			f.Close()
			return nil, pathError("read", path, err)
		}
	}
	switch {
	case info.Mode().IsRegular():
		return f, nil
	case f != nil:
		f.Close()
	}
	if info.IsDir() {
		return nil, folderError(show(path))
	}
	return nil, specialError(show(path), info.Mode())
}

// readAll reads a file of at most api.MaxReadFile bytes, also one of /proc that says it
// has none.
func readAll(f *os.File, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, api.MaxReadFile+1))
	if err != nil {
		return nil, pathError("read", path, err)
	}
	if len(data) > api.MaxReadFile {
		return nil, api.Errorf(api.CodeTooLarge, "%s has more than %d bytes, the most that is read.", show(path), api.MaxReadFile).
			WithFix("Read a part of it with shell, for example head, tail, sed -n '1,100p', or search_files.")
	}
	return data, nil
}

// imageFormat recognises an image by its first bytes; empty is none.
func imageFormat(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "jpeg"
	}
	return ""
}

func readImage(result api.ReadFileResult, format string, data []byte) (any, error) {
	if len(data) > api.MaxReadImage {
		return nil, api.Errorf(api.CodeTooLarge, "%s is an image of %d bytes; at most %d are read.", result.Path, len(data), api.MaxReadImage).
			WithFix("Make it smaller with shell (for example ffmpeg -i in.png -vf scale=1000:-1 out.jpg), or open it on the screen.")
	}
	decodeConfig := png.DecodeConfig
	if format == "jpeg" {
		decodeConfig = jpeg.DecodeConfig
	}
	// A model provider may refuse the whole conversation over a broken image.
	config, err := decodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, api.Errorf(api.CodeUnsupported, "%s begins like an image, but is broken: %v.", result.Path, err).
			WithFix("Look at it with shell (file, xxd), or make it anew.")
	}
	result.Kind, result.Format, result.Width, result.Height = api.FileImage, format, config.Width, config.Height
	return picture{result, data}, nil
}

func readText(result api.ReadFileResult, r api.ReadFileRequest, text, encoding string) (any, error) {
	result.Kind, result.Encoding = api.FileText, encoding
	if encoding != utf8Name {
		result.Notes = append(result.Notes, fmt.Sprintf("The file is %s; its text is shown as UTF-8.", encoding))
	} else if n := strings.Count(text, "\uFFFD"); n > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("What is no UTF-8 is shown as U+FFFD; places of that: %d.", n))
	}
	result.Lines = countLines(text)
	first := max(r.Offset, 1)
	if first > max(result.Lines, 1) {
		return nil, api.Errorf(api.CodeBadRequest, "%s has %d lines; the offset %d is behind its end.", result.Path, result.Lines, r.Offset).
			WithFix("Read from an earlier line; lines are counted from 1.")
	}
	text, shown := lines(text, first, r.Limit)
	result.FirstLine, result.LastLine = first, first+shown-1
	result.Text, result.CutBytes = clip.Text(text)
	if result.CutBytes > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("%d bytes in the middle were left out. Read them with offset and limit, which count lines.", result.CutBytes))
	}
	return result, nil
}

// countLines counts the lines of a text. The last one need not end in a newline.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// lines returns at most limit lines of a text, 0 for all, and how many; the first line
// has the number 1.
func lines(text string, first, limit int) (part string, n int) {
	for range first - 1 {
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	end := 0
	for end < len(text) && (limit == 0 || n < limit) {
		n++
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return text, n
		}
		end += next + 1
	}
	return text[:end], n
}
