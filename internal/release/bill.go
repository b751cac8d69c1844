package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// component is one in a CycloneDX bill of materials.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Ref     string `json:"bom-ref"`
}

// collect adds what a binary is made of to the package URLs: the modules and the
// toolchain that the linker has noted in it.
func collect(purls map[string]bool, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	purls["pkg:golang/std@"+strings.TrimPrefix(info.GoVersion, "go")] = true
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purls["pkg:golang/"+m.Path+"@"+m.Version] = true
	}
	return nil
}

// billOfMaterials returns a CycloneDX 1.6 document of the collected modules and of noVNC, which
// computerd embeds. It has no time and no serial number, so that it can be made again.
func billOfMaterials(version string, purls map[string]bool) ([]byte, error) {
	novnc, err := novncVersion()
	if err != nil {
		return nil, err
	}
	purls["pkg:npm/%40novnc/novnc@"+novnc] = true
	product := newComponent("pkg:golang/github.com/falleng0d/computer-use-mcp@" + version)
	product.Type = "application"
	components := []component{}
	for _, purl := range slices.Sorted(maps.Keys(purls)) {
		components = append(components, newComponent(purl))
	}
	return json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":   map[string]any{"component": product},
		"components": components,
	}, "", "  ")
}

func newComponent(purl string) component {
	name, version, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(purl, "pkg:golang/"), "pkg:npm/"), "@")
	return component{
		Type: "library", Name: strings.ReplaceAll(name, "%40", "@"), Version: version, PURL: purl, Ref: purl,
	}
}

// novncVersion returns the version that the viewer page is built with.
func novncVersion() (string, error) {
	const path = "viewer/web/package-lock.json"
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	novnc := lock.Packages["node_modules/@novnc/novnc"].Version
	if novnc == "" {
		return "", fmt.Errorf("%s does not pin noVNC", path)
	}
	return novnc, nil
}
