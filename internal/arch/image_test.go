package arch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was promised to be in the computer's image is put there by the Dockerfile, and
// image-check looks whether it works, in each image that is built.
func TestImageContents(t *testing.T) {
	check, err := os.ReadFile("../../image/rootfs/usr/local/bin/image-check")
	if err != nil {
		t.Fatal(err)
	}
	var built strings.Builder
	for _, in := range dockerfile(t) {
		built.WriteString(in.name + " " + in.rest + "\n")
	}
	// Only an image that was built without uv on purpose may lack it.
	for what, text := range map[string]string{"the Dockerfile": built.String(), "image-check": string(check)} {
		if !strings.Contains(text, "/opt/computer/without-uv") {
			t.Errorf("S0-19: %s does not know the mark of an image without uv", what)
		}
	}
	for _, c := range []struct{ number, built, checked string }{
		{"S0-17", "FROM debian:trixie", "debian"},
		{"S0-18", " python3 ", "python"},
		{"S0-19", `--target /uv "uv==$UV_VERSION"`, "uv"},
		{"S0-20", "NODE_VERSION=24.", "node"},
		{"S0-21", " git ", "git"},
		{"S0-22", " gh ", "gh"},
		{"S0-23", " awscli ", "aws"},
		{"S0-24", " ruby", "ruby"},
		{"S0-25", " fish ", "fish"},
		{"S0-25", "--shell /bin/bash computer", "shell"},
		{"S0-26", " build-essential ", "gcc"},
		{"S0-26", " build-essential ", "make"},
		{"S0-27", " ripgrep ", "ripgrep"},
		{"S0-28", " imagemagick ", "imagemagick"},
		{"S0-29", " libreoffice-writer", "writer"},
		{"S0-29", " libreoffice-calc ", "calc"},
		{"S0-29", " libreoffice-impress ", "impress"},
		{"S0-30", " xclip ", "clipboard"},
		{"S0-30", " xsel ", "clipboard"},
		{"S0-31", " fonts-noto-core ", `"font $language"`},
		{"S0-31", " fonts-noto-cjk ", `"font $language"`},
		{"S0-31", " fonts-noto-color-emoji", `"font $language"`},
		{"S0-32", "computer ALL=(ALL) NOPASSWD:ALL", "sudo"},
		{"S0-34", "/home/computer/.local/bin", "path"},
		{"S0-34", "prefix=${HOME}/.local", "local-npm"},
		{"S0-34", "break-system-packages = true", "local-pip"},
		{"S0-35", " tzdata ", "locale"},
		{"S0-35", "LANG=en_US.UTF-8", "locale"},
	} {
		if !strings.Contains(built.String(), c.built) {
			t.Errorf("%s: the Dockerfile has no %q", c.number, c.built)
		}
		if !strings.Contains(string(check), "check "+c.checked+" ") {
			t.Errorf("%s: image-check has no check %s", c.number, c.checked)
		}
	}
}

// S0-194, S0x.19: Chromium fetches uBlock Origin Lite, which the person may switch off
// ("normal" installed), and no other extension. S0-201: its DevTools are at 9221 and the
// screen's number.
func TestImageBrowser(t *testing.T) {
	files, err := filepath.Glob("../../image/rootfs/etc/chromium/policies/managed/*.json")
	if err != nil {
		t.Fatal(err)
	}
	const uBlockOriginLite = "ddkjiahejlhfcafbddmgiahcphecmpfh"
	extensions := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var policy struct {
			ExtensionSettings map[string]struct {
				Mode string `json:"installation_mode"`
			}
			ExtensionInstallForcelist []string
		}
		if err := json.Unmarshal(data, &policy); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for id, e := range policy.ExtensionSettings {
			extensions[id] = e.Mode
		}
		for _, id := range policy.ExtensionInstallForcelist {
			extensions[id] = "force"
		}
	}
	if len(extensions) != 1 || extensions[uBlockOriginLite] != "normal_installed" {
		t.Errorf("extensions %v", extensions)
	}
	start, err := os.ReadFile("../../image/rootfs/usr/local/sbin/computer-start")
	if err != nil || !strings.Contains(string(start), "--devtools-base 9221 ") {
		t.Errorf("computer-start names no port of DevTools: %v", err)
	}
}
