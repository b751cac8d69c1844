package display

import "testing"

func TestClipboard(t *testing.T) {
	s := open(t, newManager(t))
	clipboard, err := s.Clipboard()
	if err != nil {
		t.Fatal(err)
	}
	if err := clipboard.Set("ÆØÅ"); err != nil {
		t.Fatal(err)
	}
	if text, err := clipboard.Get(t.Context()); err != nil || text != "ÆØÅ" {
		t.Errorf("%q, %v", text, err)
	}
}
