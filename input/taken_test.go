package input

import (
	"os/exec"
	"testing"
	"time"
)

func TestRestOf(t *testing.T) {
	if r := restOf(0); r.asleep {
		t.Error("no process is asleep")
	}
	sleeper := exec.Command("sleep", "1000")
	start(t, sleeper)
	deadline := time.Now().Add(patience)
	r := restOf(sleeper.Process.Pid)
	for !r.asleep && time.Now().Before(deadline) {
		r = restOf(sleeper.Process.Pid)
	}
	if again := restOf(sleeper.Process.Pid); !r.asleep || r.wakes == 0 || again != r {
		t.Errorf("sleep rests %+v, then %+v", r, again)
	}
	stop(t, sleeper.Process.Pid)
	for r = restOf(sleeper.Process.Pid); r.asleep && time.Now().Before(deadline); {
		r = restOf(sleeper.Process.Pid)
	}
	if r.asleep {
		t.Error("a stopped process counts as asleep: it has events before it")
	}
}

// A program that hangs costs a limited time: one that should answer fails the text,
// one that cannot is given its time.
func TestProgramHangs(t *testing.T) {
	text := printable(0x4e00, 0x4e00+150) // more than fit on the spare keys
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		d, s := openDevice(t, "us")
		term := openTerminal(t, s)
		stop(t, term.pid)
		begin := time.Now()
		if err := d.NewHolder().Type(t.Context(), text); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took < unknownWait || took > patience {
			t.Errorf("typing took %v", took)
		}
	})
	t.Run("field", func(t *testing.T) {
		t.Parallel()
		d, s := openDevice(t, "us")
		field := openField(t, s)
		stop(t, field.pid)
		err := d.NewHolder().Type(t.Context(), text)
		const want = "typing stopped after 0 of 151 characters: the focused window did not answer for 5 s"
		if err == nil || err.Error() != want {
			t.Errorf("typing: %v, want: %s", err, want)
		}
	})
}
