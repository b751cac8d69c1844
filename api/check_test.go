package api

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func parseAct(t *testing.T, s string) ActRequest {
	t.Helper()
	var r ActRequest
	if err := json.Unmarshal([]byte(s), &r); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return r
}

// S3-1: as many actions as that in one call, and more.
func TestActRequestCheckAccepts(t *testing.T) {
	for _, s := range []string{
		`{"actions":[{"kind":"click","x":0,"y":0}]}`,
		`{"actions":[{"kind":"click","x":5,"y":6,"button":"right","double":true,"modifiers":["ctrl"]}]}`,
		`{"actions":[{"kind":"move","x":1,"y":1},{"kind":"down"},{"kind":"up","x":3,"y":4}]}`,
		`{"actions":[{"kind":"drag","x":1,"y":1,"to_x":7,"to_y":8,"duration_ms":0}]}`,
		`{"actions":[{"kind":"type","text":"--help"}]}`,
		`{"actions":[{"kind":"key","key":"enter","repeat":100}]}`,
		`{"actions":[{"kind":"key","key":"w","repeat":5,"hold_ms":1000}]}`,
		`{"actions":[{"kind":"scroll","direction":"down"}]}`,
		`{"actions":[{"kind":"scroll","direction":"left","amount":20,"x":1,"y":2,"modifiers":["shift"]}]}`,
		`{"actions":[{"kind":"wait"},{"kind":"wait","ms":5000,"settle":"off"}]}`,
		`{"actions":[{"kind":"focus","application":"xterm","uri":"a"}],"settle":"auto","settle_ms":0,"screenshot":"each","image":"crop","stop_on_no_reaction":"never"}`,
		`{"actions":[{"kind":"wait"}],"region":{"x":0,"y":0,"width":1,"height":1},"max_side":64,"format":"png"}`,
		`{"actions":[` + strings.Repeat(`{"kind":"wait"},`, 23) + `{"kind":"wait"}],"settle_ms":5000}`,
	} {
		if err := parseAct(t, s).Check(); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestActRequestCheckRefuses(t *testing.T) {
	double := `{"kind":"click","x":1,"y":1,"double":true},`
	for _, c := range []struct{ in, want string }{
		{`{"actions":[]}`, "There is no action."},
		{`{"actions":[{"kind":"wait"},{"kind":"tap"}]}`, `action 2 (tap): kind "tap" is unknown`},
		{`{"actions":[{"kind":"click","x":1}]}`, "y is missing"},
		{`{"actions":[{"kind":"click"}]}`, "x is missing; it needs x, y"},
		{`{"actions":[{"kind":"key","key":""}]}`, "key is missing or empty; it needs key"},
		{`{"actions":[{"kind":"scroll"}]}`, "direction is missing or empty"},
		{`{"actions":[{"kind":"focus","application":""}]}`, "application is missing or empty"},
		{`{"actions":[{"kind":"down","x":1}]}`, "x and y go together"},
		{`{"actions":[{"kind":"move","x":1,"y":1,"text":"a"}]}`, "it takes no text"},
		{`{"actions":[{"kind":"wait","ms":5001}]}`, "action 1 (wait): ms 5001 is outside 0 to 5000."}, // S0-77
		{`{"actions":[{"kind":"wait","ms":-1}]}`, "ms -1 is outside"},
		{`{"actions":[{"kind":"scroll","direction":"down","amount":0}]}`, "amount 0 is outside 1 to 20"},   // S0-78
		{`{"actions":[{"kind":"scroll","direction":"down","amount":21}]}`, "amount 21 is outside 1 to 20"}, // S2-30, S2-52
		{`{"actions":[{"kind":"scroll","direction":"in"}]}`, `direction "in" is not one of up, down, left, right`},
		{`{"actions":[{"kind":"click","x":-1,"y":1}]}`, "x -1 is outside 0 to 7679"},
		{`{"actions":[{"kind":"click","x":1,"y":1,"button":"first"}]}`, `button "first" is not one of`},
		{`{"actions":[{"kind":"key","key":"a","repeat":101}]}`, "repeat 101 is outside 1 to 100"},
		{`{"actions":[{"kind":"key","key":"a","repeat":6,"hold_ms":1000}]}`, "6 repeats held for 1000 ms"},
		{`{"actions":[{"kind":"type","text":""}]}`, "text is empty"},
		{`{"actions":[{"kind":"wait","settle":"on"}]}`, `settle "on" is not one of off`},
		{`{"actions":[{"kind":"type","text":"` + strings.Repeat("é", 4001) + `"}]}`, "types 4001 characters"}, // S2-32, S2-51
		{`{"actions":[` + strings.Repeat(double, 12) + `{"kind":"wait"}]}`, "counts 25 actions"},              // S0-73, S0-76
		{`{"actions":[{"kind":"wait"}],"settle_ms":5001}`, "settle_ms 5001 is outside 0 to 5000"},
		{`{"actions":[{"kind":"wait"}],"screenshot":"all"}`, `screenshot "all" is not one of final, each, none`},
		{`{"actions":[{"kind":"wait"}],"region":{"x":0,"y":0,"width":0,"height":1}}`, "region.width 0 is outside"},
		{`{"actions":[{"kind":"wait"}],"max_side":63}`, "max_side 63 is outside 64 to 7680"},
		{`{"actions":[{"kind":"wait"}],"format":"gif"}`, `format "gif" is not one of png, jpeg`},
	} {
		err := parseAct(t, c.in).Check()
		if err == nil {
			t.Errorf("%s: accepted", c.in)
			continue
		}
		if e := AsError(err); e.Code != CodeBadRequest || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %s %q, want %q", c.in, e.Code, e.Message, c.want)
		}
	}
}

func TestEveryKindHasAShape(t *testing.T) {
	if len(Kinds) != len(shapes) {
		t.Errorf("%d kinds, %d shapes", len(Kinds), len(shapes))
	}
	for _, k := range Kinds {
		if _, ok := shapes[k]; !ok {
			t.Errorf("no shape for %q", k)
		}
	}
}

// FuzzActRequestCheck feeds arbitrary JSON to the checker: it must not panic, and
// what it accepts must keep the limits that the daemon relies on.
func FuzzActRequestCheck(f *testing.F) {
	f.Add([]byte(`{"actions":[{"kind":"click","x":1,"y":2,"double":true},{"kind":"type","text":"a"}]}`))
	f.Add([]byte(`{"actions":[{"kind":"key","key":"a","repeat":3,"hold_ms":9223372036854775807}]}`))
	f.Add([]byte(`{"actions":[{"kind":"drag","x":1,"y":2,"to_x":3,"to_y":4}],"settle_ms":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r ActRequest
		if json.Unmarshal(data, &r) != nil || r.Check() != nil {
			return
		}
		weight, runes := 0, 0
		for _, a := range r.Actions {
			weight += a.Weight()
			if a.Text != nil {
				runes += utf8.RuneCountInString(*a.Text)
			}
			if a.Kind == KindClick && (a.X == nil || a.Y == nil || *a.X < 0 || *a.Y < 0) {
				t.Errorf("accepted a click without a place: %s", data)
			}
			if a.HoldMS != nil && (*a.HoldMS < 0 || *a.HoldMS > 5000) {
				t.Errorf("accepted hold_ms %d", *a.HoldMS)
			}
		}
		if weight < 1 || weight > MaxActions || runes > MaxTextRunes {
			t.Errorf("accepted weight %d and %d characters", weight, runes)
		}
	})
}

// Every refusal says what to do next, also those of arguments that go together.
func TestRefusalsHaveAFix(t *testing.T) {
	long := strings.Repeat("a", MaxPath+1)
	text := "a"
	region := &Region{Width: 1, Height: 1}
	regions := make([]Region, MaxIgnored+1)
	for _, c := range []struct {
		name string
		err  error
	}{
		{"wait for a window without a title", WaitRequest{For: WaitWindow}.Check()},
		{"wait for a file in a region", WaitRequest{For: WaitFile, Path: "a", Region: region}.Check()},
		{"wait for an impossible file", WaitRequest{For: WaitFile, Path: "a\x00"}.Check()},
		{"wait for a file of a long name", WaitRequest{For: WaitFile, Path: long}.Check()},
		{"too many regions", ConfigureRequest{IgnoreRegions: &regions}.Check()},
		{"no path", ReadFileRequest{}.Check()},
		{"a long path", ReadFileRequest{Path: long}.Check()},
		{"a long command", ShellRequest{Command: strings.Repeat("a", MaxCommand+1)}.Check()},
		{"text to get", ClipboardRequest{Action: ClipboardGet, Text: &text}.Check()},
		{"nothing to set", ClipboardRequest{Action: ClipboardSet}.Check()},
	} {
		if e := AsError(c.err); c.err == nil || e.Code == CodeInternal || e.Fix == "" {
			t.Errorf("%s: %+v", c.name, c.err)
		}
	}
}
