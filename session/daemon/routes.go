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

type route struct {
	pattern string
	access  access
	answer  answer
	handle  handler
}

// routes is the whole API.
var routes = []route{
	{api.RouteHealth, anyone, plain, (*daemon).health},
	{api.RouteInfo, token, plain, (*daemon).info},
	{api.RouteHeartbeat, token, plain, (*daemon).heartbeat},
	{api.RouteRelease, token, plain, (*daemon).release},
	{api.RouteStart, token, plain, (*daemon).start},
	{api.RouteEnd, token, plain, (*daemon).end},
	{api.RouteObserve, token, mixed, onImages((*session.Session).Observe)},
	{api.RouteAct, token, mixed, onProgress((*session.Session).Act)},
	{api.RouteWait, token, mixed, onImages((*session.Session).Wait)},
	{api.RouteConfigure, token, plain, on((*session.Session).Configure)},
	{api.RouteHuman, token, mixed, onProgress((*session.Session).RequestHuman)},
	{api.RouteShow, token, plain, (*daemon).show},
	{api.RouteShell, token, plain, on((*session.Session).Shell)},
	{api.RouteSetCwd, token, plain, on((*session.Session).SetCwd)},
	{api.RouteJobOutput, token, plain, on((*session.Session).JobOutput)},
	{api.RouteJobStop, token, plain, on((*session.Session).JobStop)},
	{api.RouteJobList, token, plain, on((*session.Session).JobList)},
	{api.RouteListFiles, token, plain, on((*session.Session).ListFiles)},
	{api.RouteReadFile, token, mixed, onImages((*session.Session).ReadFile)},
	{api.RouteWriteFile, token, plain, on((*session.Session).WriteFile)},
	{api.RouteEditFile, token, plain, on((*session.Session).EditFile)},
	{api.RouteSearchFiles, token, plain, on((*session.Session).SearchFiles)},
	{api.RoutePutArchive, token, itself, (*daemon).putArchive},
	{api.RouteGetArchive, token, itself, (*daemon).getArchive},
	{api.RouteClipboard, token, plain, on((*session.Session).Clipboard)},
	{api.RouteOpenPath, token, mixed, onImages((*session.Session).OpenPath)},
	{api.RouteLaunchApp, token, mixed, onImages((*session.Session).LaunchApp)},
	{api.RoutePageText, token, plain, on((*session.Session).PageText)},
	{api.RouteStartDevTools, token, plain, on((*session.Session).StartDevTools)},
	{api.RouteStopDevTools, token, plain, on((*session.Session).StopDevTools)},
	{api.RouteShutdown, token, plain, (*daemon).shutdown},
	{"/", token, plain, (*daemon).unknown},
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
