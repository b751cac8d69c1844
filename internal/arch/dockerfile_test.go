package arch

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// instruction is one of the Dockerfile, its lines joined.
type instruction struct {
	line       int
	name, rest string
}

func dockerfile(t *testing.T) (all []instruction) {
	t.Helper()
	data, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text, begin := "", 0
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if text == "" {
			begin = i + 1
		}
		if before, goesOn := strings.CutSuffix(line, `\`); goesOn {
			text += before + "\n"
			continue
		}
		name, rest, _ := strings.Cut(text+line, " ")
		all = append(all, instruction{begin, strings.ToUpper(name), rest})
		text = ""
	}
	return all
}

// Issue 10, Done when 4: what hadolint would say of the Dockerfile, as far as it matters
// here. Its rules are named.
func TestDockerfile(t *testing.T) {
	var (
		pinned = regexp.MustCompile(`^\S+:\S+`)
		stages = map[string]bool{}
		strict = false // the shell of this stage stops at errors, in pipes too
	)
	for _, in := range dockerfile(t) {
		complain := func(rule, why string) { t.Errorf("Dockerfile:%d: %s: %s", in.line, rule, why) }
		switch in.name {
		case "FROM":
			image := strings.Fields(in.rest)[0]
			if !stages[image] && (!pinned.MatchString(image) || strings.HasSuffix(image, ":latest")) {
				complain("DL3006, DL3007", "the base has no tag of its own")
			}
			strict = stages[image] // which a stage inherits
			if words := strings.Fields(in.rest); len(words) == 3 && strings.EqualFold(words[1], "as") {
				stages[words[2]] = true
			}
		case "SHELL":
			strict = strings.Contains(in.rest, "pipefail") && strings.Contains(in.rest, "-e")
		case "RUN":
			if !strict {
				complain("DL4006", "the shell does not stop at errors within pipes")
			}
			if strings.Contains(in.rest, "apt-get install") && !strings.Contains(in.rest, "rm -rf /var/lib/apt/lists") {
				complain("DL3009", "the package lists stay in the layer")
			}
			if strings.Contains(in.rest, "apt-get upgrade") || strings.Contains(in.rest, "apt install") {
				complain("DL3005, DL3027", "use apt-get install")
			}
			if regexp.MustCompile(`npm install [^;]*\b[a-z-]+(;|$)`).MatchString(in.rest) && !strings.Contains(in.rest, "@$") {
				complain("DL3016", "a package has no version")
			}
		case "ADD":
			complain("DL3020", "use COPY")
		case "WORKDIR":
			if !strings.HasPrefix(in.rest, "/") {
				complain("DL3000", "the path is not absolute")
			}
		case "CMD", "ENTRYPOINT":
			if !strings.HasPrefix(in.rest, "[") {
				complain("DL3025", "use the form of a list")
			}
		case "MAINTAINER":
			complain("DL4000", "is deprecated")
		case "COPY", "ENV", "ARG", "LABEL", "EXPOSE", "USER", "VOLUME", "HEALTHCHECK", "STOPSIGNAL":
		default:
			complain("DL1000", "unknown instruction "+in.name)
		}
	}
}

// A layer is built again when one below it changes, and Debian's packages are most of the
// minutes of a build: no stage installs them on top of files of this repository.
func TestDockerfileLayers(t *testing.T) {
	changes := map[string]bool{} // by stage, whether it holds files of this repository
	stage := ""
	for _, in := range dockerfile(t) {
		words := strings.Fields(in.rest)
		switch {
		case in.name == "FROM":
			stage = words[2]
			changes[stage] = changes[words[0]]
		case in.name == "COPY" && !strings.HasPrefix(words[0], "--from="):
			changes[stage] = true
		case in.name == "RUN" && strings.Contains(in.rest, "apt-get install") && changes[stage]:
			t.Errorf("Dockerfile:%d: a small file that changes installs these packages again", in.line)
		}
	}
}

// The commands of the Dockerfile are shell scripts like others.
func TestDockerfileCommands(t *testing.T) {
	xvfbtest.Need(t, "shellcheck")
	for _, in := range dockerfile(t) {
		if in.name != "RUN" {
			continue
		}
		// Variables come from ARG and ENV; $(find ...) is split on purpose; the text of
		// configuration files has its own ${...}.
		cmd := exec.Command("shellcheck", "--shell", "bash", "--exclude", "SC2154,SC2046,SC2016", "-")
		cmd.Stdin = strings.NewReader("set -euo pipefail\n" + in.rest + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("Dockerfile:%d: %v\n%s", in.line, err, out)
		}
	}
}
