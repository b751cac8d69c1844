package hostmcp

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/tools.md, docs/config.md and the README's table of settings")

// Issue 10, item 2: docs/tools.md is what the table of tools says.
func TestToolsDocIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Tools\n\nWhat an agent's client is told of each tool. Every answer is text for a model, with the same facts as\n" +
		"structured content; refusals are in [errors.md](errors.md). Unknown arguments are refused by name.\n")
	for _, tool := range Tools() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", tool.Name, tool.Description)
		var hints []string
		for _, h := range []struct {
			on   bool
			name string
		}{{tool.ReadOnly, "read only"}, {tool.Destructive, "destructive"}, {tool.Idempotent, "idempotent"}, {tool.OpenWorld, "open world"}} {
			if h.on {
				hints = append(hints, h.name)
			}
		}
		if len(hints) > 0 {
			fmt.Fprintf(&b, "\nHints for clients: %s.\n", strings.Join(hints, ", "))
		}
		b.WriteString("\n| argument | kind | |\n|---|---|---|\n")
		for _, f := range tool.AllFields() {
			writeFieldRow(&b, f.Name, f)
		}
	}
	b.WriteString("\nThis page is made of the table of tools: `go test ./hostmcp -run DocIsCurrent -update`.\n")
	wantDoc(t, "../docs/tools.md", b.String())
}

// writeFieldRow writes a field and those inside it; path is how a reader finds it.
func writeFieldRow(b *strings.Builder, path string, f Field) {
	doc := strings.ReplaceAll(strings.ReplaceAll(f.Doc, "|", `\|`), "\n", " ")
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, kindInWords(f), doc)
	for _, inner := range f.Fields {
		writeFieldRow(b, path+"."+inner.Name, inner)
	}
	if f.Item != nil {
		for _, inner := range f.Item.Fields {
			writeFieldRow(b, path+"[]."+inner.Name, inner)
		}
		for _, v := range f.Item.Variants {
			var names []string
			for _, inner := range v.Fields {
				name := inner.Name
				if !inner.Required {
					name += "?"
				}
				names = append(names, name)
			}
			fmt.Fprintf(b, "| `%s[]` of kind `%s` | %s | %s |\n", path, v.Kind, strings.Join(names, ", "), v.Doc)
		}
	}
}

func kindInWords(f Field) string {
	words := string(f.Kind)
	if len(f.Enum) > 0 {
		words = strings.Join(f.Enum, ", ")
	}
	if f.Min != 0 || f.Max != 0 {
		unit := ""
		switch f.Kind {
		case String:
			unit = " characters"
		case Array:
			unit = " items"
		}
		words += fmt.Sprintf(", %d to %d%s", f.Min, f.Max, unit)
	}
	if f.Required {
		words += "; required"
	}
	return words
}

// Issue 10, item 2: docs/config.md, and the README's table, are what the table of
// settings says.
func TestConfigDocIsCurrent(t *testing.T) {
	var page, table strings.Builder
	page.WriteString("# Settings\n\nEnvironment variables of `computer-use-mcp`, set in the MCP client's configuration (`computer-use-mcp config`\n" +
		"carries over those that are set). A bad value is refused by name when it is first needed, so that the agent\n" +
		"can tell you; an empty one counts as unset. Most are read when `start_computer` runs.\n\n" +
		"| variable | default | accepted | |\n|---|---|---|---|\n")
	table.WriteString("| variable | default | |\n|---|---|---|\n")
	for _, s := range SettingTable {
		value := cmp.Or(s.Default, "unset")
		fmt.Fprintf(&page, "| `%s` | `%s` | %s | %s |\n", s.Name, value, s.Form, s.Doc)
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", s.Name, value, s.Doc)
	}
	page.WriteString("\nThis page is made of the table in `hostmcp/settings.go`: `go test ./hostmcp -run DocIsCurrent -update`.\n")
	wantDoc(t, "../docs/config.md", page.String())

	const path = "../README.md"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- settings -->\n", "<!-- end of settings -->\n"
	before, rest, ok := strings.Cut(string(readme), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the settings", path)
	}
	wantDoc(t, path, before+begin+table.String()+end+after)
}

// wantDoc compares a generated file, or writes it with -update.
func wantDoc(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the table says (%v): go test ./hostmcp -run DocIsCurrent -update", path, err)
	}
}
