package supervise

import "strings"

// ShellQuote returns text as one word of a command line for sh, whatever is in it but a zero
// byte, which no word can hold.
func ShellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
