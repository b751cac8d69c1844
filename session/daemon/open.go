package daemon

import (
	"github.com/falleng0d/computer-use-mcp/api"
)

func (d *Daemon) openPath(c *call) (any, error) {
	var r api.OpenPathRequest
	s, err := d.session(c, &r)
	if err != nil {
		return nil, err
	}
	result, images, err := s.OpenPath(c.r.Context(), r)
	c.images = images
	return result, err
}

func (d *Daemon) launchApp(c *call) (any, error) {
	var r api.LaunchAppRequest
	s, err := d.session(c, &r)
	if err != nil {
		return nil, err
	}
	result, images, err := s.LaunchApp(c.r.Context(), r)
	c.images = images
	return result, err
}
