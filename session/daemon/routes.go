package daemon

import (
	"fmt"
	"os"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/session"
)

// access says who may call a route.
type access int

const (
	anyone access = iota
	token         // the holder of the bearer token
)

// answer says in which form a route answers; see package api.
type answer int

const (
	plain answer = iota
	mixed
	itself // the handler has answered, unless it returns an error
)

// body is how long the JSON body of a request may be, in bytes.
type body int64

const (
	usual   body = api.MaxRequestBody
	ofAFile body = api.MaxFileBody // it carries a file's text
)

type route struct {
	pattern string
	access  access
	body    body
	answer  answer
	handle  handler
}

// routes is the whole API.
var routes = []route{
	{api.RouteHealth, anyone, usual, plain, (*daemon).health},
	{api.RouteInfo, token, usual, plain, (*daemon).info},
	{api.RouteHeartbeat, token, usual, plain, (*daemon).heartbeat},
	{api.RouteRelease, token, usual, plain, (*daemon).release},
	{api.RouteStart, token, usual, plain, (*daemon).start},
	{api.RouteEnd, token, usual, plain, (*daemon).end},
	{api.RouteObserve, token, usual, mixed, onImages((*session.Session).Observe)},
	{api.RouteAct, token, usual, mixed, onProgress((*session.Session).Act)},
	{api.RouteWait, token, usual, mixed, onImages((*session.Session).Wait)},
	{api.RouteConfigure, token, usual, plain, on((*session.Session).Configure)},
	{api.RouteHuman, token, usual, mixed, onProgress((*session.Session).RequestHuman)},
	{api.RouteShow, token, usual, plain, (*daemon).show},
	{api.RouteShell, token, usual, plain, on((*session.Session).Shell)},
	{api.RouteSetCwd, token, usual, plain, on((*session.Session).SetCwd)},
	{api.RouteJobOutput, token, usual, plain, on((*session.Session).JobOutput)},
	{api.RouteJobStop, token, usual, plain, on((*session.Session).JobStop)},
	{api.RouteJobList, token, usual, plain, on((*session.Session).JobList)},
	{api.RouteListFiles, token, usual, plain, on((*session.Session).ListFiles)},
	{api.RouteReadFile, token, usual, mixed, onImages((*session.Session).ReadFile)},
	{api.RouteWriteFile, token, ofAFile, plain, on((*session.Session).WriteFile)},
	{api.RouteEditFile, token, ofAFile, plain, on((*session.Session).EditFile)},
	{api.RouteSearchFiles, token, usual, plain, on((*session.Session).SearchFiles)},
	{api.RoutePutArchive, token, usual, itself, (*daemon).putArchive},
	{api.RouteGetArchive, token, usual, itself, (*daemon).getArchive},
	{api.RouteClipboard, token, usual, plain, on((*session.Session).Clipboard)},
	{api.RouteOpenPath, token, usual, mixed, onImages((*session.Session).OpenPath)},
	{api.RouteLaunchApp, token, usual, mixed, onImages((*session.Session).LaunchApp)},
	{api.RoutePageText, token, usual, plain, on((*session.Session).PageText)},
	{api.RouteStartDevTools, token, usual, plain, on((*session.Session).StartDevTools)},
	{api.RouteStopDevTools, token, usual, plain, on((*session.Session).StopDevTools)},
	{api.RouteShutdown, token, usual, plain, (*daemon).shutdown},
	{"/", token, usual, plain, (*daemon).unknown},
}

func (d *daemon) health(*call) (any, error) {
	return api.Health{Name: "computerd", Version: d.cfg.Version, Protocol: api.Protocol()}, nil
}

func (d *daemon) info(*call) (any, error) {
	info := api.Info{
		Version: d.cfg.Version, Protocol: api.Protocol(),
		ComputerID: d.cfg.Identity.ComputerID, HomeID: d.cfg.Identity.HomeID,
		Network: d.cfg.Network, PID: os.Getpid(), StartedAt: d.started.UTC(),
		Viewer: d.cfg.Viewer, Sandbox: d.cfg.Sandbox,
		Screens: []api.Screen{}, Sessions: d.cfg.Table.Sessions(),
	}
	for _, desktop := range d.cfg.Table.Desktops() {
		info.Screens = append(info.Screens, desktop.Info(d.cfg.VNCPort(desktop.Screen.Number())))
	}
	return info, nil
}

func (d *daemon) heartbeat(c *call) (any, error) {
	owner, err := ownerOf(c)
	if err != nil {
		return nil, err
	}
	return api.HeartbeatResult{Sessions: d.cfg.Table.Heartbeat(owner)}, nil
}

func (d *daemon) release(c *call) (any, error) {
	owner, err := ownerOf(c)
	if err != nil {
		return nil, err
	}
	return api.HeartbeatResult{Sessions: d.cfg.Table.Release(owner)}, nil
}

func ownerOf(c *call) (string, error) {
	owner := c.r.PathValue("owner")
	if !api.ValidID(owner) {
		return "", api.Errorf(api.CodeBadRequest, "The owner %.64q is not 32 lower-case hex digits.", owner)
	}
	return owner, nil
}

func (d *daemon) start(c *call) (any, error) {
	var r api.StartRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	s, err := d.cfg.Table.Start(r)
	if err != nil {
		return nil, err
	}
	return api.StartResult{
		Session: s.ID(), Viewer: d.cfg.Viewer,
		ComputerID: d.cfg.Identity.ComputerID, HomeID: d.cfg.Identity.HomeID,
		Network: d.cfg.Network, Notes: []string{},
	}, nil
}

func (d *daemon) end(c *call) (any, error) {
	if err := d.cfg.Table.End(c.r.PathValue("id")); err != nil {
		return nil, err
	}
	return api.EndResult{Ended: true}, nil
}

// show waits until a session has a screen and tells how a person can see it.
func (d *daemon) show(c *call) (any, error) {
	var r api.ShowRequest
	s, err := d.session(c, &r)
	for version := uint64(0); err == nil && s.Desktop() == nil; {
		if version, err = d.cfg.Table.Wait(c.r.Context(), version); err == nil {
			_, err = d.cfg.Table.Get(s.ID()) // it may have ended
		}
	}
	if err != nil {
		return nil, err
	}
	n := s.Desktop().Screen.Number()
	result := api.ShowResult{Screen: n, VNCPort: d.cfg.VNCPort(n)}
	if d.cfg.Show != nil {
		result.Viewer = fmt.Sprintf("%s&screen=%d", d.cfg.Viewer, n)
		result.Shown = r.Page && d.cfg.Show(n)
	}
	return result, nil
}

func (d *daemon) shutdown(*call) (any, error) {
	d.cfg.Shutdown()
	return struct{}{}, nil
}

func (d *daemon) unknown(c *call) (any, error) {
	return nil, api.Errorf(api.CodeNotFound, "There is no route %s %.100q.", c.r.Method, c.r.URL.Path).
		WithFix("Use a server of the same version as the computer.")
}
