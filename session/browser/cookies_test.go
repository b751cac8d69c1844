package browser

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// chip makes a cookie of site.test.
func chip(name, value string) cookie {
	return cookie{Name: name, Value: value, Domain: "site.test", Path: "/", Expires: -1}
}

func set(list ...cookie) cookies { return cookiesOf(list) }

// Issue 9, item 3: what changed in a browser, S0-204, S0-205.
func TestDiff(t *testing.T) {
	lasting := chip("a", "1")
	lasting.Expires = 2e9
	alike := lasting
	alike.Expires += 0.3 // stored with other digits
	longer := lasting
	longer.Expires += 60
	opaque := chip("b", "2")
	opaque.Opaque = true
	for _, c := range []struct {
		name          string
		before, after cookies
		want          string
	}{
		{"nothing", set(chip("a", "1")), set(chip("a", "1")), ""},
		{"signed in", set(), set(chip("a", "1")), "a=1"},
		{"another value", set(chip("a", "1")), set(chip("a", "2")), "a=2"},
		{"signed out", set(chip("a", "1"), chip("b", "1")), set(chip("b", "1")), "a gone"},
		{"digits", set(lasting), set(alike), ""},
		{"lasts longer", set(lasting), set(longer), "a=1"},
		{"a partition without a name stays where it is", set(), set(opaque), ""},
	} {
		if got := words(diff(c.before, c.after)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// words writes changes of cookies down, in the order of their names.
func words(ch changes) string {
	var list []string
	for _, name := range []string{"a", "b", "c"} {
		for k, c := range ch {
			switch {
			case k.name != name:
			case c == nil:
				list = append(list, name+" gone")
			default:
				list = append(list, name+"="+c.Value)
			}
		}
	}
	return strings.Join(list, ", ")
}

func TestMerge(t *testing.T) {
	long := chip("a", "1")
	long.Expires = 2e9
	in1, in2 := diff(set(), set(chip("a", "1"))), diff(set(), set(chip("a", "2")))
	out := diff(set(chip("a", "0")), set())
	for _, c := range []struct {
		name string
		list []changes
		want string
	}{
		{"different cookies", []changes{in1, diff(set(), set(chip("b", "1")))}, "a=1, b=1"},
		{"signed out in one, changed in another", []changes{out, in1}, "a gone"},
		{"the other way round", []changes{in1, out}, "a gone"},
		{"two values", []changes{in1, in2}, "a=2"},
		{"two values, the other way round", []changes{in2, in1}, "a=2"},
		{"the one that lasts longer", []changes{in2, diff(set(), set(long))}, "a=1"},
	} {
		if got := words(merge(c.list...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// S0-212: the jar drops the oldest changes; what it drops is not taken from browsers.
func TestJarIsBounded(t *testing.T) {
	j := make(contents)
	start := time.Unix(1_800_000_000, 0)
	for n := range maxCookies + 10 {
		j.apply(diff(nil, set(chip(fmt.Sprint(n), "v"))), start.Add(time.Duration(n)*time.Second))
	}
	if len(j) != maxCookies {
		t.Errorf("%d cookies", len(j))
	}
	if _, ok := j[chip("9", "").key()]; ok {
		t.Error("an old one is there")
	}
	if _, ok := j[chip("10", "").key()]; !ok {
		t.Error("a newer one is not")
	}
}

func TestJarForgetsWhatHasExpired(t *testing.T) {
	j := make(contents)
	c := chip("a", "1")
	c.Expires = 1_800_000_000
	j.apply(diff(nil, set(c)), time.Unix(1_799_999_999, 0))
	if len(j) != 1 {
		t.Fatal("it is not there")
	}
	j.apply(changes{}, time.Unix(1_800_000_001, 0))
	if len(j) != 0 {
		t.Error("it is there still")
	}
}

// What a browser is given must not go to hosts below, and must be taken back whatever it was.
func TestParam(t *testing.T) {
	for _, c := range []struct {
		cookie      cookie
		url, domain any
	}{
		{cookie{Name: "a", Domain: "site.test", Path: "/x"}, "http://site.test/x", nil},
		{cookie{Name: "a", Domain: "site.test", Path: "/", Secure: true}, "https://site.test/", nil},
		{cookie{Name: "a", Domain: ".site.test", Path: "/"}, nil, ".site.test"},
	} {
		p := c.cookie.param()
		if p["url"] != c.url || p["domain"] != c.domain {
			t.Errorf("%+v: %v", c.cookie, p)
		}
		if r := c.cookie.key().removal(); r["expires"] != 1.0 || r["value"] != "" {
			t.Errorf("removal %v", r)
		}
	}
}

// FuzzExchange lets people use browsers in any order, with exchanges in between: after two
// quiet ones all browsers and the jar have the same cookies.
func FuzzExchange(f *testing.F) {
	f.Add(uint64(1), []byte("a0b1.c2-.d3"))
	f.Add(uint64(2), []byte("................"))
	f.Fuzz(func(t *testing.T, seed uint64, acts []byte) {
		random := rand.New(rand.NewPCG(seed, 0))
		type user struct{ have, seen cookies }
		users := make([]user, 3)
		for i := range users {
			users[i] = user{set(), set()}
		}
		jar := make(contents)
		now := time.Unix(1_800_000_000, 0)
		exchange := func() {
			now = now.Add(period)
			var all changes
			for _, u := range users {
				all = merge(all, diff(u.seen, u.have))
			}
			jar.apply(all, now)
			for i, u := range users {
				for k, c := range all.missing(u.have) {
					if c == nil {
						delete(u.have, k)
					} else {
						u.have[k] = *c
					}
				}
				users[i].seen = maps.Clone(u.have)
			}
		}
		for _, a := range acts {
			u := users[int(a)%len(users)]
			name := string('a' + rune(random.IntN(3)))
			switch a >> 5 {
			case 0, 1:
				exchange()
			case 2, 3, 4:
				u.have[chip(name, "").key()] = chip(name, fmt.Sprint(random.IntN(4)))
			default:
				delete(u.have, chip(name, "").key())
			}
		}
		exchange()
		exchange()
		for i, u := range users {
			if ch := diff(users[0].have, u.have); len(ch) > 0 {
				t.Fatalf("browser %d differs: %s", i, words(ch))
			}
			if ch := jar.all().missing(u.have); len(ch) > 0 || len(jar) != len(u.have) {
				t.Fatalf("the jar differs from browser %d: %s", i, words(ch))
			}
		}
	})
}
