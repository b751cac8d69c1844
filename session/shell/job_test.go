package shell

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

func (b *bench) start1(line string, keep bool) string {
	b.t.Helper()
	id, err := b.StartJob(Command{Line: line, Dir: b.home}, keep, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// read reads a job's output to its end.
func (b *bench) read(id string) (text string, last api.JobOutput) {
	b.t.Helper()
	for {
		out, err := b.Output(b.t.Context(), api.JobOutputRequest{Job: id, Offset: last.NextOffset, WaitMS: 10000})
		if err != nil {
			b.t.Fatal(err)
		}
		if out.Offset != last.NextOffset {
			b.t.Fatalf("read from %d, want %d", out.Offset, last.NextOffset)
		}
		text, last = text+out.Output, out
		if !out.Running && out.NextOffset == out.Total {
			return text, last
		}
	}
}

// A job's output is read bit by bit, stdout and stderr in the order they were written,
// and its exit code comes at the end.
func TestJobOutput(t *testing.T) {
	b := newBench(t, false)
	id := b.start1(`for i in {1..4000}; do echo "line $i €"; echo "error $i" >&2; done; exit 7`, false)
	text, last := b.read(id)
	var want strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&want, "line %d €\nerror %d\n", i+1, i+1)
	}
	if text != want.String() {
		t.Errorf("%d bytes of output, want %d", len(text), want.Len())
	}
	if last.ExitCode == nil || *last.ExitCode != 7 || last.Running {
		t.Errorf("%+v", last)
	}
	out, err := b.Output(t.Context(), api.JobOutputRequest{Job: id, Offset: -11})
	if err != nil || out.Output != "error 4000\n" {
		t.Errorf("the last 11 bytes: %+v, %v", out, err)
	}
}

// Reading waits for output, and no longer than it was told.
func TestJobOutputWaits(t *testing.T) {
	b := newBench(t, false)
	id := b.start1("sleep .3; echo now; sleep 60", false)
	out, err := b.Output(t.Context(), api.JobOutputRequest{Job: id, WaitMS: 10000})
	if err != nil || out.Output != "now\n" || !out.Running {
		t.Errorf("%+v, %v", out, err)
	}
	start := time.Now()
	out, err = b.Output(t.Context(), api.JobOutputRequest{Job: id, Offset: out.NextOffset, WaitMS: 50})
	if took := time.Since(start); err != nil || out.Output != "" || took < 50*time.Millisecond || took > 5*time.Second {
		t.Errorf("after %v: %+v, %v", took, out, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(api.Errorf(api.CodeSessionEnded, "It ended."))
	if _, err := b.Output(ctx, api.JobOutputRequest{Job: id, WaitMS: 10000, Offset: 1 << 40}); api.AsError(err).Code != api.CodeSessionEnded {
		t.Errorf("%v", err)
	}
}

func TestJobStop(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		id := b.start1("echo begun;"+hardToEnd+"wait", false)
		if out, err := b.Output(t.Context(), api.JobOutputRequest{Job: id, WaitMS: 10000}); err != nil || out.Output != "begun\n" {
			t.Fatalf("%+v, %v", out, err)
		}
		b.run("while [ ! -e pids ] || [ $(wc -l < pids) -lt 6 ]; do sleep .01; done")
		info, err := b.Stop(id)
		if err != nil || info.Running || info.ExitCode == nil || !info.Stopped {
			t.Errorf("%+v, %v", info, err)
		}
		b.gone(b.pids("pids"))
		if out, err := b.Output(t.Context(), api.JobOutputRequest{Job: id}); err != nil || !strings.HasPrefix(out.Output, "begun\n") || out.Running {
			t.Errorf("after the stop: %+v, %v", out, err)
		}
		if info, err := b.Stop(id); err != nil || info.Running {
			t.Errorf("a second stop: %+v, %v", info, err)
		}
		id = b.start1("exit 3", false)
		for out := (api.JobOutput{Running: true}); out.Running; {
			if out, err = b.Output(t.Context(), api.JobOutputRequest{Job: id, WaitMS: 10000}); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := b.Stop(id); err != nil || info.Running || info.Stopped || *info.ExitCode != 3 {
			t.Errorf("a stop after the end: %+v, %v", info, err)
		}
		if _, err := b.Stop("nothing"); api.AsError(err).Code != api.CodeNotFound {
			t.Errorf("%v", err)
		}
	})
}

// Jobs end with their session; a kept one lives on and every session may use it.
func TestJobsEndWithTheSession(t *testing.T) {
	both(t, func(t *testing.T, b *bench) {
		b.start1("echo $$ >> pids; sleep 1001", false)
		kept := b.start1("echo $$ >> kept; echo going on; sleep 1002", true)
		b.run("while [ ! -e pids ] || [ ! -e kept ]; do sleep .01; done")
		b.End()
		b.gone(b.pids("pids"))

		other := b.all.Shell(api.NewID())
		defer other.End()
		list := other.Jobs()
		if len(list) != 1 || list[0].Job != kept || !list[0].Running || !list[0].Keep {
			t.Errorf("%+v", list)
		}
		out, err := other.Output(t.Context(), api.JobOutputRequest{Job: kept})
		if err != nil || out.Output != "going on\n" || !out.Running {
			t.Errorf("%+v, %v", out, err)
		}
		b.all.Close()
		b.gone(b.pids("kept"))
	})
}

func TestJobTimeout(t *testing.T) {
	b := newBench(t, false)
	id, err := b.StartJob(Command{Line: "echo a; sleep 60", Dir: b.home}, false, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if text, last := b.read(id); text != "a\n" || *last.ExitCode != 143 {
		t.Errorf("%q, %+v", text, last)
	}
}

// The oldest job that has ended makes room for a new one; while all run there is none, also
// for those that come at once.
func TestJobLimit(t *testing.T) {
	b := newBench(t, false)
	first := b.start1("true", false)
	b.read(first)
	var started atomic.Int32
	var starting sync.WaitGroup
	for range api.MaxJobs + 8 {
		starting.Go(func() {
			if _, err := b.StartJob(Command{Line: "sleep 60", Dir: b.home}, false, 0); err == nil {
				started.Add(1)
			}
		})
	}
	starting.Wait()
	if n := started.Load(); n != api.MaxJobs {
		t.Errorf("%d jobs were started", n)
	}
	if _, err := b.Output(t.Context(), api.JobOutputRequest{Job: first}); api.AsError(err).Code != api.CodeNotFound {
		t.Errorf("the first job: %v", err)
	}
	if _, err := b.StartJob(Command{Line: "true", Dir: b.home}, false, 0); api.AsError(err).Code != api.CodeBusy {
		t.Errorf("one too many: %v", err)
	}
}

// The ring reads like the end of a text that is kept as a whole.
func TestRing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const size = 1000
	r, err := newRing(t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var text []byte
	for range 500 {
		piece := make([]byte, random.IntN(2500)*random.IntN(2))
		for i := range piece {
			piece[i] = byte(random.Uint32())
		}
		r.Write(piece)
		text = append(text, piece...)
		offset := random.Int64N(int64(len(text)) + 50)
		most := random.IntN(2 * size)
		data, start, total, err := r.read(offset, most)
		if err != nil || total != int64(len(text)) {
			t.Fatalf("total %d, %v; want %d", total, err, len(text))
		}
		want := min(max(offset, total-size), total)
		if start != want || !bytes.Equal(data, text[start:min(start+int64(most), total)]) {
			t.Fatalf("read from %d: %d bytes from %d, want from %d of %d", offset, len(data), start, want, total)
		}
	}
}
