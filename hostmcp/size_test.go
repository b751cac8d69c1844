package hostmcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every client sends the whole list of tools to its model with every request, so its
// size is paid for all the time.
const (
	maxDescriptions = 12_000 // bytes
	maxInstructions = 4_000
)

// Issue 10, item 5: the descriptions of all tools and their fields are under 12 KB.
func TestDescriptionsAreShort(t *testing.T) {
	type part struct {
		name string
		size int
	}
	var parts []part
	total, schemas := 0, 0
	for _, tool := range Tools() {
		size := len(tool.Description) + docSize(tool.AllFields())
		parts = append(parts, part{tool.Name, size})
		total += size
		list, err := json.Marshal(tool.protocol())
		if err != nil {
			t.Fatal(err)
		}
		schemas += len(list)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(b.size, a.size) })
	var biggest []string
	for _, p := range parts[:8] {
		biggest = append(biggest, fmt.Sprintf("%s %d", p.name, p.size))
	}
	t.Logf("%d bytes of descriptions in %d tools, %d as JSON; the biggest: %s", total, len(parts), schemas, strings.Join(biggest, ", "))
	if total > maxDescriptions {
		t.Errorf("%d bytes, more than %d; the biggest: %s", total, maxDescriptions, strings.Join(biggest, ", "))
	}
	if len(instructions) > maxInstructions {
		t.Errorf("the instructions have %d bytes, more than %d", len(instructions), maxInstructions)
	}
}

// docSize is the size of the descriptions of fields in bytes, as the schema shows them.
func docSize(fields []Field) int {
	n := 0
	for _, f := range fields {
		n += len(f.Doc) + docSize(f.Fields)
		if f.Item != nil {
			n += docSize(f.Item.allFields())
		}
	}
	return n
}

// S2-49, S2-50: COMPUTER_USE_TOOLS can name every tool, and leaves all that it does not name out.
func TestEveryToolCanBeAllowed(t *testing.T) {
	for _, tool := range Tools() {
		s := newServer(newFakeComputer(t), map[string]string{settingTools: tool.Name})
		c := connect(t, s, "", nil)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, listed := range list.Tools {
			got = append(got, listed.Name)
		}
		want := []string{"start_computer", "end_session", tool.Name}
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s allows %v", tool.Name, got)
		}
	}
}
