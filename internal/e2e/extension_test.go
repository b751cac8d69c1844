package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/xvfbtest"
)

// packExtension has Chromium make an extension that puts "seen: " before the text of pages,
// and returns its package and its id.
func packExtension(t *testing.T) (crx []byte, id string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "extension")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "Seen", "version": "1.0", "content_scripts": [{"matches": ["<all_urls>"], "js": ["seen.js"], "run_at": "document_end"}]}`,
		"seen.js":       `document.body.prepend("seen: ")`,
	} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(dir, "key.pem")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600); err != nil {
		t.Fatal(err)
	}
	pack := exec.Command("chromium", "--headless", "--no-sandbox", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--pack-extension="+source, "--pack-extension-key="+keyFile)
	pack.Env = append(os.Environ(), "HOME="+dir)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("pack an extension: %v\n%s", err, out)
	}
	if crx, err = os.ReadFile(source + ".crx"); err != nil {
		t.Fatal(err)
	}
	// The first half of the key's hash, with the letters a to p for digits.
	hash := sha256.Sum256(public)
	for _, b := range hash[:16] {
		id += string([]byte{'a' + b>>4, 'a' + b&15})
	}
	return crx, id
}

// Issue 9, item 7: an extension that the policies install, as uBlock Origin Lite is one, is
// fetched once and works in later browsers too. The policies and the server are the test's.
func TestExtensionIsKept(t *testing.T) {
	xvfbtest.NeedThat(t, os.Getuid() == 0, "root, to show a computer policies of its own")
	xvfbtest.Need(t, "chromium", "unshare")
	crx, id := packExtension(t)
	var fetched atomic.Int32
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /update.xml", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<gupdate xmlns="http://www.google.com/update2/response" protocol="2.0"><app appid="%s"><updatecheck codebase="%s/extension.crx" version="1.0"/></app></gupdate>`, id, server.URL)
	})
	mux.HandleFunc("GET /extension.crx", func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		w.Header().Set("Content-Type", "application/x-chrome-extension")
		w.Write(crx)
	})
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Page</title><body>words")
	})

	etc := t.TempDir()
	policies := filepath.Join(etc, "policies", "managed")
	if err := os.MkdirAll(policies, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(policies, "computer.json"), fmt.Appendf(nil,
		`{"ExtensionSettings": {%q: {"installation_mode": "normal_installed", "update_url": %q}}}`, id, server.URL+"/update.xml"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	c := newComputer(t)
	c.via = []string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/chromium && exec "$@"`, etc}
	a := c.agent()
	installed := filepath.Join(c.home, ".local/share/computer-use/chromium/screen-1/Default/Extensions", id)
	for _, title := range []string{"first", "second"} {
		s := a.start(title)
		s.open(server.URL + "/page")
		// Chromium installs when it has nothing else to do: who loads pages all the time waits
		// for ever.
		a.eventually("the extension is installed", func() bool { return exists(filepath.Join(installed, "1.0_0")) })
		s.act(map[string]any{"kind": "key", "key": "F5"})
		a.eventually("the extension sees the page", func() bool { return strings.HasPrefix(s.pageText(), "seen: ") })
		s.end()
		a.eventually("the browser is gone", func() bool { return len(c.browsers()) == 0 })
	}
	if n := fetched.Load(); n != 1 {
		t.Errorf("the extension was fetched %d times", n)
	}
}
