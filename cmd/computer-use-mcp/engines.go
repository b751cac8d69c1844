package main

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"

	"github.com/falleng0d/computer-use-mcp/api"
	"github.com/falleng0d/computer-use-mcp/hostmcp"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/docker"
	"github.com/falleng0d/computer-use-mcp/hostmcp/engine/local"
)

// chooseEngine returns the engine that the settings name.
func chooseEngine(s *hostmcp.Settings, log *slog.Logger) (engine.Engine, error) {
	name, err := s.Get(hostmcp.SettingEngine)
	if err != nil {
		return nil, err
	}
	if name == "local" {
		return localEngine(s, log)
	}
	return dockerEngine(s, log)
}

// chooseOrLocal is chooseEngine for a person at a terminal: where no engine was
// asked for and Docker is not to be had, the local one serves, and note says so.
func chooseOrLocal(ctx context.Context, s *hostmcp.Settings, log *slog.Logger) (e engine.Engine, note string, err error) {
	if s.IsSet(hostmcp.SettingEngine) || runtime.GOOS != "linux" {
		e, err = chooseEngine(s, log)
		return e, "", err
	}
	inDocker, err := dockerEngine(s, log)
	if err != nil {
		return nil, "", err
	}
	err = inDocker.Ready(ctx)
	if err == nil {
		return inDocker, "", nil
	}
	because := api.AsError(err)
	switch because.Code {
	case api.CodeEngineUnavailable, api.CodeImageMissing, api.CodeUnsupported:
		e, err = localEngine(s, log)
		return e, "The computer is a sandbox on this machine, the local engine. Why it is not a container: " + because.Message, err
	}
	return nil, "", err
}

func dockerEngine(s *hostmcp.Settings, log *slog.Logger) (*docker.Engine, error) {
	values, err := read(s, hostmcp.SettingName, hostmcp.SettingImage, hostmcp.SettingNetwork,
		hostmcp.SettingPublish, hostmcp.SettingPortBase, hostmcp.SettingNative)
	if err != nil {
		return nil, err
	}
	base, _ := strconv.Atoi(values[hostmcp.SettingPortBase]) // the setting is a number
	image := values[hostmcp.SettingImage]
	if image == "auto" {
		image = ""
	}
	return docker.New(docker.Config{
		Name: values[hostmcp.SettingName], Image: image, Version: version,
		PortBase: base, Offline: values[hostmcp.SettingNetwork] == "offline", Unpublished: values[hostmcp.SettingPublish] == "off",
		NativeViewers: values[hostmcp.SettingNative], Debug: s.LogLevel() <= slog.LevelDebug, Logger: log,
	})
}

func localEngine(s *hostmcp.Settings, log *slog.Logger) (*local.Engine, error) {
	values, err := read(s, hostmcp.SettingName, hostmcp.SettingSandbox, hostmcp.SettingNetwork, hostmcp.SettingPortBase, hostmcp.SettingNative)
	if err != nil {
		return nil, err
	}
	if values[hostmcp.SettingNetwork] == "offline" {
		return nil, api.Errorf(api.CodeUnsupported, "The local engine shares this machine's network, so %s=offline cannot be kept.", hostmcp.SettingNetwork).
			WithFix("Leave the variable out to accept that.")
	}
	base, _ := strconv.Atoi(values[hostmcp.SettingPortBase]) // the setting is a number
	return local.New(local.Config{
		Name: values[hostmcp.SettingName], PortBase: base, NativeViewers: values[hostmcp.SettingNative],
		Unsafe: values[hostmcp.SettingSandbox] == "off", Debug: s.LogLevel() <= slog.LevelDebug, Logger: log,
	})
}

// read returns the checked values of several settings.
func read(s *hostmcp.Settings, names ...string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		value, err := s.Get(name)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}
