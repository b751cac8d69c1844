package api

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/errors.md")

// S2-42, S2-43: every code that this package declares is in the table, once.
func TestCodesAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, value)
		}
		return true
	})
	var listed []string
	for _, c := range Codes {
		listed = append(listed, string(c.Code))
		if !strings.HasSuffix(c.Means, ".") || !strings.HasSuffix(c.Do, ".") {
			t.Errorf("%s: not sentences", c.Code)
		}
	}
	if !slices.Equal(declared, listed) {
		t.Errorf("declared %q\nlisted   %q", declared, listed)
	}
}

func TestEveryErrorHasAFix(t *testing.T) {
	for _, c := range Codes {
		e := Errorf(c.Code, "It did not work.")
		if want := "It did not work. " + c.Do; e.Error() != want {
			t.Errorf("%s says %q, want %q", c.Code, e, want)
		}
		if e := e.WithFix("Do %d.", 1); e.Error() != "It did not work. Do 1." {
			t.Errorf("with another fix %s says %q", c.Code, e)
		}
	}
}

func TestErrorsDocIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Errors

Every refusal of a tool is a tool error whose structured content is one object:

| field | |
|---|---|
| ` + "`code`" + ` | one of the codes below; the list is closed, so clients may switch on it |
| ` + "`message`" + ` | what happened, with the value that caused it |
| ` + "`fix`" + ` | what to do next |
| ` + "`retryable`" + ` | whether the same call may succeed later, unchanged |

The text beside it is the message and the fix. The HTTP API of the computer's daemon
answers with the same object.

| code | what it means | what a client does |
|---|---|---|
`)
	for _, c := range Codes {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Code, c.Means, c.Do)
	}
	b.WriteString("\nThis page is made of the table in `api/codes.go`: `go test ./api -run TestErrorsDoc -update`.\n")
	const path = "../docs/errors.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the table says (%v); run this test with -update", path, err)
	}
}
