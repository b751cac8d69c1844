package hostmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/api/client"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
)

// What clients and model providers need of every tool.
func TestTools(t *testing.T) {
	for _, tool := range Tools() {
		if tool.Title == "" || len(tool.Description) < 40 {
			t.Errorf("%s: says too little", tool.Name)
		}
		var schema map[string]any
		data := Schema(tool.AllFields())
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatalf("%s: %v\n%s", tool.Name, err, data)
		}
		checkSchema(t, tool.Name, schema)
		if !tool.NoSession && tool.AllFields()[0].Name != "session" {
			t.Errorf("%s: the session is not the first field", tool.Name)
		}
	}
}

func TestReadmeNamesEveryTool(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range Tools() {
		if !strings.Contains(string(readme), "`"+tool.Name+"`") {
			t.Errorf("the README does not name %s", tool.Name)
		}
	}
}

// checkSchema allows only what every model provider accepts.
func checkSchema(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	kind, ok := schema["type"].(string)
	if !ok {
		t.Errorf("%s: type %v is not one word", path, schema["type"])
	}
	for key := range schema {
		if !slices.Contains([]string{
			"type", "description", "properties", "required", "additionalProperties", "enum",
			"items", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
		}, key) {
			t.Errorf("%s: key %s", path, key)
		}
	}
	if kind == "object" && schema["additionalProperties"] != false {
		t.Errorf("%s: unknown fields are not refused", path)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		checkSchema(t, path+"."+name, property.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkSchema(t, path+"[]", items)
	}
}

// The properties stand in the order of the table, in which models read them.
func TestSchemaOrder(t *testing.T) {
	got := string(Schema([]Field{{Name: "z", Kind: String, Required: true, Max: 3}, {Name: "a", Kind: Array, Item: &Field{Kind: Integer}}}))
	want := `{"type":"object","properties":{"z":{"type":"string","minLength":0,"maxLength":3},` +
		`"a":{"type":"array","items":{"type":"integer"}}},"required":["z"],"additionalProperties":false}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// S0-74: the table of action kinds accepts exactly what the daemon accepts.
func TestActionKindsAgreeWithAPI(t *testing.T) {
	sample := map[string]any{
		"x": 1, "y": 2, "to_x": 3, "to_y": 4, "button": "left", "double": true, "modifiers": []string{"ctrl"},
		"duration_ms": 5, "text": "a", "key": "a", "repeat": 2, "hold_ms": 5, "direction": "up", "amount": 2,
		"ms": 5, "application": "xterm", "uri": "a", "settle": "off",
	}
	accepted := func(action map[string]any) bool {
		data, err := json.Marshal(action)
		if err != nil {
			t.Fatal(err)
		}
		var a api.Action
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatal(err)
		}
		return a.Check() == nil
	}
	var kinds []string
	for _, v := range actionKinds {
		kinds = append(kinds, v.Kind)
		full := map[string]any{"kind": v.Kind}
		for _, f := range v.Fields {
			full[f.Name] = sample[f.Name]
		}
		if !accepted(full) {
			t.Errorf("%s with all its fields is refused", v.Kind)
		}
		for name, value := range sample {
			i := slices.IndexFunc(v.Fields, func(f Field) bool { return f.Name == name })
			changed := map[string]any{}
			for k, v := range full {
				changed[k] = v
			}
			if i < 0 {
				changed[name] = value
				if accepted(changed) {
					t.Errorf("%s takes %s, which the table lacks", v.Kind, name)
				}
			} else if v.Fields[i].Required {
				delete(changed, name)
				if accepted(changed) {
					t.Errorf("%s does not need %s", v.Kind, name)
				}
			}
		}
	}
	if !slices.Equal(kinds, api.Kinds) {
		t.Errorf("kinds %v, the API's %v", kinds, api.Kinds)
	}
}

// FuzzClean: whatever the arguments, the decoder returns or refuses; what it accepts
// has only the table's fields, and cleaning it again changes nothing.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"session": "a", "actions": "[{\"kind\": \"wait\", \"ms\": \"1\"}]"}`,
		`{"session": "a", "actions": [{"kind": "click", "x": "1e3", "y": 2.0, "double": "TRUE", "modifiers": ["ctrl"]}]}`,
		`{"session": "a", "region": {"x": 1, "y": 2, "width": "3", "height": 4}, "max_side": 1e400}`,
		`{"session": "a", "actions": [{"kind": "type", "text": "\ud800"}], "observe": null}`,
		`{"session": 1e999999999}`, `{"session":"a"}{}`,
	} {
		f.Add(0, seed)
		f.Add(3, seed)
	}
	f.Fuzz(func(t *testing.T, n int, args string) {
		tools := Tools()
		tool := tools[uint(n)%uint(len(tools))]
		checked, err := clean(tool.Name, tool.AllFields(), []byte(args))
		if err != nil {
			e := api.AsError(err)
			if e.Code != api.CodeBadRequest || len(e.Message) > 1000 || !utf8.ValidString(e.Message) {
				t.Errorf("refused as %+v", e)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal(checked, &object); err != nil {
			t.Fatalf("%v: %s", err, checked)
		}
		if name, ok := unknownField(object, tool.AllFields()); ok {
			t.Errorf("unknown field %q went through", name)
		}
		again, err := clean(tool.Name, tool.AllFields(), checked)
		if err != nil || !bytes.Equal(again, checked) {
			t.Errorf("a second pass changes it: %v\n%s\n%s", err, checked, again)
		}
		var request api.ActRequest
		if tool.Name == "computer_act" && json.Unmarshal(checked, &request) != nil {
			t.Errorf("does not fit the API: %s", checked)
		}
	})
}

// FuzzCalls: whatever is called with whatever arguments, the answer is a result, and an
// error has a code of the table beside its text.
func FuzzCalls(f *testing.F) {
	id := api.NewID()
	for n := range Tools() {
		f.Add(n, `{}`)
		f.Add(n, `{"session": "`+id+`"}`)
		f.Add(n, `{"title": "a\u202e"}`)
		f.Add(n, `{"session": "`+id+`", "for": "port", "port": "8080", "quiet_ms": 1e9, "reason": " "}`)
		f.Add(n, `{"session": "`+id+`", "actions": [{"kind": "key", "key": ""}, 5], "ignore_regions": [{}]}`)
	}
	s := New(Config{Settings: NewSettings(func(string) string { return "" }), Engine: func(*Settings) (engine.Engine, error) {
		return nil, api.Errorf(api.CodeEngineUnavailable, "There is no engine.")
	}})
	s.computer = &client.Client{BaseURL: "http://127.0.0.1:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("nobody answers")
	}}
	f.Fuzz(func(t *testing.T, n int, args string) {
		tool := s.tools[uint(n)%uint(len(s.tools))]
		result, err := s.handler(tool)(t.Context(), &mcp.CallToolRequest{
			Session: new(mcp.ServerSession),
			Params:  &mcp.CallToolParamsRaw{Name: tool.Name, Arguments: json.RawMessage(args)},
		})
		if err != nil || len(result.Content) == 0 {
			t.Fatalf("%s %s: %+v, %v", tool.Name, args, result, err)
		}
		if !result.IsError {
			return
		}
		e, ok := result.StructuredContent.(*api.Error)
		text := result.Content[0].(*mcp.TextContent).Text
		if !ok || e.Message == "" || text != e.Error() || !utf8.ValidString(text) ||
			!slices.ContainsFunc(api.Codes, func(c api.CodeInfo) bool { return c.Code == e.Code }) || e.Code == api.CodeInternal {
			t.Errorf("%s %s: %+v", tool.Name, args, result.StructuredContent)
		}
	})
}

// A result stays under what clients accept, and says what it lost.
func TestResultIsBounded(t *testing.T) {
	big := func(n int) client.Image { return client.Image{ContentType: "image/png", Data: make([]byte, n)} }
	for _, test := range []struct {
		images []client.Image
		kept   int
	}{
		{[]client.Image{big(1000)}, 1},
		{[]client.Image{big(3 << 20), big(3 << 20), big(3 << 20)}, 2},
		{[]client.Image{big(8 << 20)}, 0},
		{[]client.Image{big(8 << 20), big(10)}, 1},
	} {
		result := (&Reply{Text: "text", Structured: struct{}{}, Images: test.images}).result()
		if got := len(result.Content) - 1; got != test.kept {
			t.Errorf("%d pictures kept of %d, want %d", got, len(test.images), test.kept)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if left := test.kept < len(test.images); left != strings.Contains(text, "left out") {
			t.Errorf("text: %s", text)
		}
		data, err := json.Marshal(result)
		if err != nil || len(data) > 10<<20 {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
	if result := (&Reply{Text: strings.Repeat("a", maxResult+1)}).result(); !result.IsError {
		t.Error("a huge text went through")
	}
}

// S0-48, S0-49, S0-52, S0-53: the forms of a time.
func TestDurations(t *testing.T) {
	for value, want := range map[string]string{
		"90": "1m30s", "45s": "45s", "5m": "5m0s", "1h": "1h0m0s", "0": "0s",
		"": "", "-1": "", "1.5h": "", "1h30m": "", "s": "", "5d": "", "9999999999h": "", "8761h": "",
	} {
		d, err := parseDuration(value)
		if got := d.String(); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q: %v, %v; want %q", value, d, err, want)
		}
	}
}

// The defaults of the table pass their own checks, and are those that were promised.
func TestSettingDefaults(t *testing.T) {
	for name, want := range map[string]string{
		SettingName:         "computer-use", // S0-45
		settingScreenSize:   "1280x800",     // S0-47
		settingShell:        "120s",         // S0-48
		settingShellMax:     "600s",         // S0-49
		settingIdle:         "1h",           // S0-52
		settingDevToolsIdle: "10m",          // S0-53
		SettingPortBase:     "20900",        // S0-54
		settingOpen:         "browser",      // S0-55
		settingElideTTL:     "45s",
		SettingNetwork:      "internet",
	} {
		if got := lookUp(name).Default; got != want {
			t.Errorf("%s: default %q, want %q", name, got, want)
		}
	}
	s := NewSettings(func(name string) string { return lookUp(name).Default })
	for _, setting := range SettingTable {
		if value, err := s.Get(setting.Name); err != nil || value != setting.Default || setting.Form == "" || setting.Doc == "" {
			t.Errorf("%s: %q, %v", setting.Name, value, err)
		}
	}
}

// S0-67, S0-72: what a model reads of a screen, with and without a picture.
func TestObservationText(t *testing.T) {
	for _, test := range []struct {
		change func(*api.Observation)
		want   []string
	}{
		{func(o *api.Observation) {}, []string{"Screen 1280x800", "frame 7", "Pointer at 640, 400.", `Active window: "xterm"`, `"xterm" (XTerm) 480x320 at 0, 0, focused`}},
		// S3-38, S3-53: no image, and how old the last one is.
		{func(o *api.Observation) { o.Image = api.Image{State: api.ImageUnchanged, AgeMS: 12_300} }, []string{"No picture", "12s ago", "force"}},
		{func(o *api.Observation) { o.Image = api.Image{State: api.ImageNone, AgeMS: 1234} }, []string{"No picture", "1.23s old"}},
		{func(o *api.Observation) { o.Image.Width, o.Image.Height, o.Image.Scale = 640, 400, 0.5 }, []string{"scaled to 640x400", "divide", "0.5"}},
		{func(o *api.Observation) { o.Image.Region = &api.Region{X: 10, Y: 20, Width: 30, Height: 40} }, []string{"30x40 at 10, 20", "Add 10, 20"}},
		{func(o *api.Observation) {
			o.Image.Region, o.Image.Scale = &api.Region{X: 10, Y: 20, Width: 30, Height: 40}, 0.25
		}, []string{"divide", "0.25 and add 10, 20"}},
		{func(o *api.Observation) { o.Human.InControl = true }, []string{"A person has control"}},
		{func(o *api.Observation) { o.Human.ActedSinceLastCall = true }, []string{"A person acted"}},
		{func(o *api.Observation) { o.Notes = []string{"A note."} }, []string{"A note."}},
		{func(o *api.Observation) { o.Windows = make([]api.Window, 20) }, []string{"and 8 more"}},
	} {
		o := observation()
		test.change(&o)
		text := observationText(o)
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q does not say %q", text, want)
			}
		}
	}
}

// Random joins and leaves: a queue lets its calls through one by one and in order.
func TestArrivalsModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	a := newArrivals(func(string) bool { return true })
	queues := map[string][]*turn{}
	for range 2000 {
		session := fmt.Sprint(r.IntN(3))
		if queue := queues[session]; len(queue) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(queue))
			a.leave(queue[i])
			a.leave(queue[i]) // a second time changes nothing
			queues[session] = slices.Delete(queue, i, i+1)
		} else {
			queues[session] = append(queue, a.arrive(request(t, session)))
		}
		for _, queue := range queues {
			for i, turn := range queue {
				select {
				case <-turn.first:
					if i > 0 {
						t.Fatal("a call runs before its turn")
					}
				default:
					if i == 0 {
						t.Fatal("the first call does not run")
					}
				}
			}
		}
	}
	for _, queue := range queues {
		for _, turn := range queue {
			a.leave(turn)
		}
	}
	if len(a.queues) != 0 || len(a.turns) != 0 {
		t.Errorf("left behind: %d queues, %d turns", len(a.queues), len(a.turns))
	}
}
