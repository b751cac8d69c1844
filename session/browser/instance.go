package browser

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/api"
)

// instance is one run of Chromium.
type instance struct {
	browser *Browser
	dir     string // its profile
	process Process
	conn    *conn
	work    sync.WaitGroup // goroutines of it
	ended   chan struct{}  // closed when the process has ended and the profile is saved

	first *page // its first tab until something was opened in it; of who has the turn

	mu     sync.Mutex
	pages  map[string]*page // guarded by mu; by session
	came   int              // guarded by mu; how many tabs have come
	news   chan struct{}    // guarded by mu; closed and replaced when a page is ready or gone
	looked time.Time        // guarded by mu; when the tabs were asked which is in front
	quiet  bool             // guarded by mu; its end is no news: it has not started, or is told to quit

	bringing  sync.Mutex                   // held while an origin gets its localStorage
	owedItems map[string]map[string]string // guarded by mu; localStorage that it has not got yet, by origin
	bringer   string                       // guarded by mu; session of the tab that brings it

	// What follows is guarded by Browsers.exchanging.
	seen cookies // those that it had at the last exchange
	owed changes // that it could not be given
}

// flags are the arguments of every Chromium. Its windows are the agent's and people's: no
// question, hint or offer may stand in their way, and nothing of it goes out by itself.
// What a flag cannot do, the policies in the image do.
var flags = []string{
	"--remote-debugging-pipe", "--no-startup-window", // the cookies come before the first page
	"--no-first-run", "--no-default-browser-check", "--hide-crash-restore-bubble",
	"--disable-search-engine-choice-screen", "--deny-permission-prompts",
	"--disable-features=" + strings.Join([]string{
		"Translate",
		// The lists below the address field are web pages otherwise, which each start loads
		// in advance. That takes more of a processor than all the rest of it.
		"WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
		"OptimizationHints", "NetworkTimeServiceQuerying", // ask Google
	}, ","),
	"--password-store=basic", // no keyring asks for a password
	"--disable-gpu",          // there is none; saves 80 MB and a process
	"--disable-breakpad", "--disable-sync", "--disable-domain-reliability", "--no-pings",
	"--disable-component-update", "--component-updater=url-source=about:blank", // the first leaves out what is looked for on demand
	"--disable-backgrounding-occluded-windows", // what is covered may be looked at next
	"--start-maximized",
}

// start starts a Chromium and returns once it answers and has the cookies.
func (b *Browser) start(ctx context.Context) (_ *instance, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	i := &instance{
		browser: b, dir: b.all.profileDir(b.screen.Number),
		pages: make(map[string]*page), news: make(chan struct{}), ended: make(chan struct{}), quiet: true, owed: make(changes),
	}
	if err := b.all.makeProfile(ctx, i.dir); err != nil {
		return nil, err
	}
	if err := i.launch(); err != nil {
		return nil, err
	}
	if err := i.prepare(ctx); err != nil {
		i.close() // by force, if it does not answer
		how, _, said := i.process.Ending()
		return nil, fmt.Errorf("%w; it ended (%s): %s", err, how, lastLine(said))
	}
	i.mu.Lock()
	i.quiet = false
	i.mu.Unlock()
	return i, nil
}

// launch starts the process with the two pipes.
func (i *instance) launch() error {
	commandsR, commandsW, err := os.Pipe()
	if err != nil {
		return err
	}
	answersR, answersW, err := os.Pipe()
	if err != nil {
		commandsR.Close()
		commandsW.Close()
		return err
	}
	i.process, err = i.browser.screen.Start(i.argv(), commandsR, answersW)
	commandsR.Close()
	answersW.Close()
	if err != nil {
		commandsW.Close()
		answersR.Close()
		return api.Errorf(api.CodeNotFound, "The browser, chromium, could not be started: %v.", err).
			WithFix("Use shell to find out whether chromium is installed.")
	}
	i.conn = newConn(answersR, commandsW, i.event)
	i.work.Go(func() {
		i.conn.run()
		if i.conn.hung.Load() {
			i.process.Kill()
		}
	})
	b := i.browser
	b.mu.Lock()
	b.run, b.crash = i, ""
	b.mu.Unlock()
	go i.wait()
	return nil
}

func (i *instance) argv() []string {
	cfg := i.browser.all.cfg
	argv := append([]string{"chromium", "--user-data-dir=" + i.dir}, flags...)
	if !cfg.OwnSandbox {
		argv = append(argv, "--no-sandbox")
	}
	managed := managed()
	if !managed {
		argv = append(argv, "--test-type") // no bar that warns of --no-sandbox
	}
	if cfg.Offline || !managed {
		argv = append(argv, "--disable-background-networking") // nor are there extensions to fetch
	}
	return argv
}

// policies is the image's file of policies. They say more than flags can, and have an
// extension installed where there is a network; see image/README.md.
const policies = "/etc/chromium/policies/managed/computer.json"

func managed() bool {
	_, err := os.Stat(policies)
	return err == nil
}

// prepare waits until Chromium answers, gives it the logins and opens its first tab, which
// is empty.
func (i *instance) prepare(ctx context.Context) error {
	if err := i.conn.call(ctx, "", "Browser.getVersion", nil, nil); err != nil {
		return err
	}
	if err := i.watchPages(ctx); err != nil {
		return err
	}
	if err := i.browser.all.join(ctx, i); err != nil {
		return err
	}
	latest, err := i.oweStorage(ctx)
	if err != nil {
		return err
	}
	if i.first, err = i.newPage(ctx); err != nil {
		return err
	}
	i.work.Go(func() { i.bringAll(latest) })
	return nil
}

// wait is the instance's goroutine, from the start of the process to the last file.
func (i *instance) wait() {
	<-i.process.Done()
	i.conn.close() // children of it that linger may hold the pipes
	i.work.Wait()
	all := i.browser.all
	all.leave(i)
	how, failed, said := i.process.Ending()
	i.mu.Lock()
	quiet := i.quiet
	i.mu.Unlock()
	if failed {
		all.cfg.Logger.Warn("browser ended", "screen", i.browser.screen.Number, "how", how, "said", lastLine(said))
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), saveTime)
		if err := all.saveProfile(ctx, i.dir); err != nil {
			all.cfg.Logger.Error("save profile", "screen", i.browser.screen.Number, "error", err)
		}
		cancel()
	}
	if !failed || quiet {
		how = ""
	}
	i.browser.lost(i, how)
	close(i.ended)
}

// awaitEnd returns when a Chromium that does not answer any more has ended, or with ctx's
// error.
func (i *instance) awaitEnd(ctx context.Context) error {
	select {
	case <-i.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quitUnused has Chromium quit when its last window was closed, as it does by itself where
// no pipe keeps it.
func (i *instance) quitUnused() {
	leave, err := i.browser.enter(context.Background())
	if err != nil {
		return
	}
	defer leave()
	i.mu.Lock()
	used := len(i.pages) > 0
	i.mu.Unlock()
	if !used {
		i.close()
	}
}

// close has Chromium quit, by force when it does not within closeTime, and returns when
// its profile is saved. Pages are not asked.
func (i *instance) close() {
	i.mu.Lock()
	i.quiet = true
	i.mu.Unlock()
	// By force where it does not end, nor even take a command.
	defer time.AfterFunc(closeTime, i.process.Kill).Stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	i.browser.all.exchange(ctx)                         // the last of its cookies
	_ = i.conn.call(ctx, "", "Browser.close", nil, nil) // what comes of it shows in ended
	<-i.ended
}

// lastLine returns the last line of what a program printed, for the end of a sentence.
func lastLine(text string) string {
	text = strings.TrimRight(text, ". \n")
	if text == "" {
		return "it printed nothing"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
