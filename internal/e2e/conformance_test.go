package e2e

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/conformance"
)

// notApplicable are the checks of the suite that this server cannot be judged by, with
// the reason, by scenario and check: they call tools, resources and prompts of the
// suite's own example server. The table of docs/conformance.md is the same.
// hostmcp's TestConformanceOfTools runs those that a few tools suffice for.
var notApplicable = []struct{ scenario, check, why string }{
	{"tools-call-*", "*", "calls a tool of the example server; see TestConformanceOfTools in hostmcp"},
	{"server-stateless", "sep-2575-server-rejects-undeclared-capability", "needs the tool test_missing_capability; see hostmcp"},
	{"server-stateless", "sep-2575-missing-capability-http-400", "needs the tool test_missing_capability; see hostmcp"},
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "needs the tool test_streaming_elicitation; see hostmcp"},
	{"server-stateless", "sep-2575-server-no-log-without-loglevel", "needs the tool test_logging_tool; see hostmcp"},
	{"http-custom-header-server-validation", "*", "no tool here wants an argument as a header"},
	{"json-schema-2020-12", "*", "needs the tool json_schema_2020_12_tool"},
	{"elicitation-*", "*", "this server asks the person on the viewer page, never through the client"},
	{"input-required-result-*", "*", "this server asks the client for nothing: no elicitation, sampling or roots"},
	{"resources-read-*", "*", "there are no resources"},
	{"resources-templates-read", "*", "there are no resources"},
	{"resources-subscribe", "*", "there are no resources"},
	{"resources-unsubscribe", "*", "there are no resources"},
	{"prompts-get-*", "*", "there are no prompts"},
	{"completion-complete", "*", "nothing here has arguments to complete"},
	{"tasks-*", "*", "an extension that this server does not offer; the suite does not score it"},
}

func applies(scenario, check string) bool {
	for _, n := range notApplicable {
		if matches(n.scenario, scenario) && matches(n.check, check) {
			return false
		}
	}
	return true
}

func matches(pattern, name string) bool {
	prefix, rest := strings.CutSuffix(pattern, "*")
	return name == pattern || rest && strings.HasPrefix(name, prefix)
}

// Issue 10, Done when 3: every scored check that applies passes, in both eras.
func TestConformance(t *testing.T) {
	s := newHTTPServer(t, newComputer(t), &prefixed{t: t})
	for _, test := range []struct {
		revision string
		least    int // checks that apply, so that a suite that runs nothing does not pass
	}{{"2025-11-25", 14}, {"2026-07-28", 50}} {
		t.Run(test.revision, func(t *testing.T) {
			suite := conformance.Suite{Clients: "clients", URL: s.url, Token: s.token}
			results := suite.Run(t, test.revision, "")
			passed := 0
			for _, scenario := range slices.Sorted(maps.Keys(results)) {
				for _, check := range results[scenario] {
					switch {
					case check.Status == "SUCCESS":
						passed++
					case check.Status == "FAILURE" && applies(scenario, check.ID):
						t.Errorf("%s, %s: %s", scenario, check.ID, check.Error)
					}
				}
			}
			t.Logf("%d checks of %d scenarios passed", passed, len(results))
			if passed < test.least {
				t.Errorf("only %d checks passed", passed)
			}
		})
	}
}

func TestConformanceDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notApplicable {
		if row := "| `" + n.scenario + "` | `" + n.check + "` | " + n.why + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/conformance.md lacks the row %s", row)
		}
	}
}
