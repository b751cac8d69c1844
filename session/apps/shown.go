package apps

import (
	"slices"
	"strings"
)

// shown are the types beside texts that Chromium shows as pages.
var shown = []string{
	"application/json", "application/pdf", "application/xhtml+xml", "application/xml",
	"image/apng", "image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/vnd.microsoft.icon",
	"image/webp", "image/x-icon", "image/x-ms-bmp",
}

// saved are the texts that Chromium saves instead of showing them.
var saved = []string{
	"text/calendar", "text/comma-separated-values", "text/csv", "text/directory", "text/ldif", "text/ofx", "text/qif", "text/rtf",
	"text/tab-separated-values", "text/tsv", "text/vcalendar", "text/vcard", "text/x-calendar", "text/x-csv", "text/x-qif",
	"text/x-vcalendar", "text/x-vcard", "text/x-vcf",
}

// Shown reports whether Chromium shows a file of a MIME type.
func Shown(mimeType string) bool {
	return slices.Contains(shown, mimeType) ||
		strings.HasPrefix(mimeType, "text/") && !slices.Contains(saved, mimeType) ||
		strings.HasPrefix(mimeType, "application/") && (strings.HasSuffix(mimeType, "+json") || strings.HasSuffix(mimeType, "+xml"))
}

// OfficePart returns the part of LibreOffice that opens files of a MIME type, as its
// Debian package calls it: writer, calc or impress. It is empty for other types.
func OfficePart(mimeType string) string {
	for _, o := range []struct {
		part  string
		types []string
	}{
		{"writer", []string{"opendocument.text", "wordprocessingml", "application/msword", "application/rtf", "text/rtf"}},
		{"calc", []string{"opendocument.spreadsheet", "spreadsheetml", "application/vnd.ms-excel", "text/csv"}},
		{"impress", []string{"opendocument.presentation", "presentationml", "application/vnd.ms-powerpoint"}},
	} {
		if slices.ContainsFunc(o.types, func(t string) bool { return strings.Contains(mimeType, t) }) {
			return o.part
		}
	}
	return ""
}
