package shell

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session/clip"
)

// maxShown is how much of a job's command a list shows, in bytes.
const maxShown = 200

// job is a command in the background.
type job struct {
	id      string
	command string
	keep    bool
	started time.Time
	process *process
	pipe    *os.File
	output  *ring

	stopOnce sync.Once
	stopping chan struct{}
	drained  chan struct{} // closed when nobody can write any more
	done     chan struct{} // closed when its shell has ended

	// What follows is written before done is closed.
	exitCode *int
	stopped  bool // it did not end by itself
	ended    time.Time
}

// StartJob runs a command in the background and returns the job's id. With keep it
// outlives the session. A timeout above 0 stops it after that time.
func (s *Shell) StartJob(c Command, keep bool, timeout time.Duration) (string, error) {
	jobs, outer := &s.jobs, s.scope
	if keep {
		jobs, outer = &s.all.kept, nil
	}
	if err := jobs.reserve(); err != nil {
		return "", err
	}
	j, err := s.startJob(c, outer, keep, timeout)
	jobs.fill(j)
	if err != nil {
		return "", err
	}
	if s.hasEnded() && !keep {
		j.release() // End may not have seen it
	}
	return j.id, nil
}

func (s *Shell) startJob(c Command, outer *Scope, keep bool, timeout time.Duration) (*job, error) {
	output, err := newRing(s.all.cfg.OutputDir, api.MaxJobOutput)
	if err != nil {
		return nil, api.Errorf(api.CodeInternal, "The job's output cannot be kept: %v.", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		output.close()
		return nil, startError(c, err)
	}
	p, err := s.start(c, outer, w, w)
	if err != nil {
		r.Close()
		output.close()
		return nil, err
	}
	j := &job{
		id: api.NewID()[:8], command: shown(c.Line), keep: keep, started: time.Now(), process: p, pipe: r, output: output,
		stopping: make(chan struct{}), drained: make(chan struct{}), done: make(chan struct{}),
	}
	go j.collect()
	go j.wait(timeout)
	return j, nil
}

func shown(command string) string {
	command = strings.ToValidUTF8(command, "\uFFFD")
	if len(command) <= maxShown {
		return command
	}
	return string(clip.WholeCharacters([]byte(command[:maxShown]))) + "..."
}

// collect reads the output of the job and of what it leaves behind.
func (j *job) collect() {
	defer close(j.drained)
	defer j.pipe.Close()
	io.Copy(j.output, j.pipe)
}

// wait waits for the job's end, or ends it.
func (j *job) wait(timeout time.Duration) {
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	select {
	case <-j.process.exited:
		select {
		case <-j.drained:
		case <-time.After(lastWords):
		}
		j.process.reap()
	case <-late:
		j.stopped = true
		j.process.end(jobGrace)
	case <-j.stopping:
		j.stopped = true
		j.process.end(jobGrace)
	}
	j.exitCode = j.process.exitCode()
	j.ended = time.Now()
	close(j.done)
}

// stop ends the job and what it has left behind.
func (j *job) stop() {
	if !j.running() {
		j.process.scope.End(jobGrace)
		return
	}
	j.stopOnce.Do(func() { close(j.stopping) })
	<-j.done
}

// release gives the job's output back. The job has been ended. It may be called more
// than once.
func (j *job) release() {
	<-j.done
	j.pipe.Close()
	<-j.drained
	j.output.close()
}

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// info describes the job.
func (j *job) info() api.Job {
	i := api.Job{
		Job: j.id, Command: j.command, Running: j.running(), Keep: j.keep, StartedAt: j.started.UTC(),
		DurationMS: time.Since(j.started).Milliseconds(), Total: j.output.written(),
	}
	if !i.Running {
		i.ExitCode, i.Stopped = j.exitCode, j.stopped
		i.DurationMS = j.ended.Sub(j.started).Milliseconds()
	}
	return i
}

// Output returns what a job has written, and waits for it when there is nothing yet.
func (s *Shell) Output(ctx context.Context, r api.JobOutputRequest) (api.JobOutput, error) {
	j, err := s.job(r.Job)
	if err != nil {
		return api.JobOutput{}, err
	}
	offset := r.Offset
	if offset < 0 {
		offset = max(0, offset+j.output.written())
	}
	waiting, cancel := context.WithTimeout(ctx, time.Duration(r.WaitMS)*time.Millisecond)
	defer cancel()
	if r.WaitMS > 0 {
		j.output.wait(waiting, offset, j.done)
	}
	if ctx.Err() != nil {
		return api.JobOutput{}, context.Cause(ctx)
	}
	info := j.info() // before its output, so that the end of that is not missed
	data, start, total, err := j.output.read(offset, api.MaxJobChunk)
	if err != nil {
		return api.JobOutput{}, api.Errorf(api.CodeInternal, "The output of the job %s is not whole: %v.", j.id, err).
			WithFix("Free space on the computer's disk, or have the job write to a file.")
	}
	if info.Running || start+int64(len(data)) < total {
		data = clip.WholeCharacters(data)
	}
	return api.JobOutput{
		Output: strings.ToValidUTF8(string(data), "\uFFFD"), Offset: start, NextOffset: start + int64(len(data)), Total: total,
		Running: info.Running, ExitCode: info.ExitCode, DurationMS: info.DurationMS,
	}, nil
}

// Stop ends a job with everything that it has started and describes it.
func (s *Shell) Stop(id string) (api.Job, error) {
	j, err := s.job(id)
	if err != nil {
		return api.Job{}, err
	}
	j.stop()
	return j.info(), nil
}

// Jobs lists the session's jobs and the kept ones, oldest first.
func (s *Shell) Jobs() []api.Job {
	list := []api.Job{}
	for _, j := range slices.Concat(s.jobs.all(), s.all.kept.all()) {
		list = append(list, j.info())
	}
	slices.SortStableFunc(list, func(a, b api.Job) int { return a.StartedAt.Compare(b.StartedAt) })
	return list
}

// job returns one of the session's jobs or of the kept ones.
func (s *Shell) job(id string) (*job, error) {
	for _, j := range slices.Concat(s.jobs.all(), s.all.kept.all()) {
		if j.id == id {
			return j, nil
		}
	}
	return nil, api.Errorf(api.CodeNotFound, "No job has the id %.60q.", id).
		WithFix("job_list shows the session's jobs. A job ends with its session unless it was started with keep.")
}

// jobs is a list of jobs, oldest first. The zero value is empty.
type jobs struct {
	mu       sync.Mutex
	list     []*job // guarded by mu
	starting int    // guarded by mu; places that are reserved
}

// reserve takes a place for a job. When all are taken it forgets the oldest job that has
// ended.
func (js *jobs) reserve() error {
	js.mu.Lock()
	var forgotten *job
	if taken := len(js.list) + js.starting; taken >= api.MaxJobs {
		i := slices.IndexFunc(js.list, func(j *job) bool { return !j.running() })
		if i < 0 {
			js.mu.Unlock()
			return api.Errorf(api.CodeBusy, "%d jobs run already.", taken).
				WithFix("Stop one with job_stop; job_list shows them.")
		}
		forgotten = js.list[i]
		js.list = slices.Delete(js.list, i, i+1)
	}
	js.starting++
	js.mu.Unlock()
	if forgotten != nil {
		forgotten.release()
	}
	return nil
}

// fill gives a reserved place to a job, or back when that is nil.
func (js *jobs) fill(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.starting--
	if j != nil {
		js.list = append(js.list, j)
	}
}

func (js *jobs) all() []*job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return slices.Clone(js.list)
}

// stop ends all jobs side by side.
func (js *jobs) stop() {
	var wg sync.WaitGroup
	for _, j := range js.all() {
		wg.Go(j.stop)
	}
	wg.Wait()
}

// release gives back the output of all jobs, which have been ended.
func (js *jobs) release() {
	for _, j := range js.all() {
		j.release()
	}
}
