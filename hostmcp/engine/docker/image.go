package docker

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/falleng0d/computer-use-mcp/api"
)

// Images of a binary that was told none.
const (
	DevImage     = "computer-use-mcp:dev"                  // what `make image` builds
	releaseImage = "ghcr.io/falleng0d/computer-use-mcp:%s" // version without its v
)

// releaseForm is the version of a release. `git describe` between two of them, and
// "dev", are not.
var releaseForm = regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)(?:-(alpha|beta|rc)\.(\d+))?$`)

func isRelease(version string) bool { return releaseForm.MatchString(version) }

// defaultImage returns the image that belongs to a binary.
func defaultImage(version string) string {
	if isRelease(version) {
		return fmt.Sprintf(releaseImage, strings.TrimPrefix(version, "v"))
	}
	return DevImage
}

// image is what is known of an image, or of the one that a container was made of.
type image struct {
	id       string
	version  string // empty: the image is not one of a computer
	protocol string
	created  time.Time
}

// olderThan reports whether i is an older image than other. Releases compare by
// version, anything else by the time when it was built.
func (i image) olderThan(other image) bool {
	if i.id == other.id {
		return false
	}
	if isRelease(i.version) && isRelease(other.version) {
		if c := compareReleases(i.version, other.version); c != 0 {
			return c < 0
		}
	}
	return i.created.Before(other.created)
}

// compareReleases orders two versions of releaseForm.
func compareReleases(a, b string) int {
	x, y := releaseForm.FindStringSubmatch(a), releaseForm.FindStringSubmatch(b)
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	for i := 1; i <= 3; i++ {
		if c := cmp.Compare(number(x[i]), number(y[i])); c != 0 {
			return c
		}
	}
	// The names of pre-releases are in alphabetical order; a final release is last.
	stage := func(s string) string { return cmp.Or(s, "~") }
	return cmp.Or(cmp.Compare(stage(x[4]), stage(y[4])), cmp.Compare(number(x[5]), number(y[5])))
}

// inspectImage returns what the engine knows of an image, nil when it has none of that
// name.
func (c *call) inspectImage(ctx context.Context, name string) (*image, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	found, err := c.docker.ImageInspect(ctx, name)
	if cerrdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(ctx, "look at the image "+name, err)
	}
	i := &image{id: found.ID}
	i.created, _ = time.Parse(time.RFC3339Nano, found.Created)
	if found.Config != nil {
		i.version, i.protocol = found.Config.Labels[labelVersion], found.Config.Labels[labelProtocol]
	}
	return i, nil
}

// needImage returns the image that a new computer is made of. A release gets a missing
// one from its registry. A development build never does: what it got would not fit it.
func (c *call) needImage(ctx context.Context) (*image, error) {
	i, err := c.inspectImage(ctx, c.cfg.Image)
	if err != nil {
		return nil, err
	}
	if i == nil && isRelease(c.cfg.Version) {
		if err := c.pull(ctx); err != nil {
			return nil, err
		}
		if i, err = c.inspectImage(ctx, c.cfg.Image); err != nil {
			return nil, err
		}
	}
	if i == nil {
		return nil, c.imageMissing()
	}
	if i.version == "" {
		return nil, api.Errorf(api.CodeImageMissing, "The image %s is not one of a computer: it has no label %s.", c.cfg.Image, labelVersion).
			WithFix("Correct COMPUTER_USE_IMAGE, or remove it to use the image of this version.")
	}
	return i, nil
}

func (c *call) imageMissing() *api.Error {
	e := api.Errorf(api.CodeImageMissing, "The Docker engine %s, chosen %s, does not have the image %s, and this development build (version %s) never pulls one.",
		c.address.host, c.address.rule, c.cfg.Image, c.cfg.Version)
	if c.cfg.Image == DevImage {
		return e.WithFix("Build it with `make image` in the source folder.")
	}
	return e.WithFix("Run `docker pull %s`, or correct COMPUTER_USE_IMAGE.", c.cfg.Image)
}

// pull gets the image and reports how far it is.
func (c *call) pull(ctx context.Context) error {
	failed := func(err error) error {
		if ctx.Err() != nil || client.IsErrConnectionFailed(err) {
			return c.explain(ctx, "pull "+c.cfg.Image, err)
		}
		return api.Errorf(api.CodeImageMissing, "The image %s cannot be pulled: %v.", c.cfg.Image, err).
			WithFix("Check the network, then try again. For a private registry log in with `docker login` and run `docker pull %s`.", c.cfg.Image).
			WithRetry()
	}
	c.progress("Pulling the image " + c.cfg.Image + ".")
	answer, err := c.docker.ImagePull(ctx, c.cfg.Image, client.ImagePullOptions{})
	if err != nil {
		return failed(err)
	}
	defer answer.Close()
	layers := pullProgress{}
	for message, err := range answer.JSONMessages(ctx) {
		if err != nil {
			return failed(err)
		}
		if message.Error != nil {
			return failed(message.Error)
		}
		if p := message.Progress; p != nil && message.Status == "Downloading" {
			layers[message.ID] = [2]int64{p.Current, p.Total}
			c.progress("Pulling the image " + c.cfg.Image + ": " + layers.String() + ".")
		}
	}
	return nil
}

// pullProgress holds the bytes that were received and those there are of each layer.
type pullProgress map[string][2]int64

func (p pullProgress) String() string {
	var current, total int64
	for _, layer := range p {
		current, total = current+layer[0], total+layer[1]
	}
	const mb = 1000 * 1000
	return fmt.Sprintf("%d of %d MB", current/mb, total/mb)
}
