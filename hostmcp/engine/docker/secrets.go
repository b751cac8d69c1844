package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// isFinished reports whether the container has its token.
func (c *call) isFinished(ctx context.Context, f *found) bool {
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	_, err := c.docker.ContainerStatPath(ctx, f.id, client.ContainerStatPathOptions{Path: tokenFile})
	return err == nil
}

// token returns the computer's bearer token, which stays the same while the container
// exists.
func (c *call) token(ctx context.Context, id string) (string, error) {
	c.mu.Lock()
	token := c.tokens[id]
	c.mu.Unlock()
	if token != "" {
		return token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.limits.request)
	defer cancel()
	answer, err := c.docker.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: tokenFile})
	if err != nil {
		return "", c.explain(ctx, "read the token of the container "+c.cfg.Name, err)
	}
	defer answer.Content.Close()
	files := tar.NewReader(answer.Content)
	_, err = files.Next()
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(files, maxTokenBytes))
	}
	if err != nil {
		return "", c.explain(ctx, "read the token of the container "+c.cfg.Name, err)
	}
	token = strings.TrimSpace(string(data))
	c.mu.Lock()
	c.tokens[id] = token
	c.mu.Unlock()
	return token, nil
}

type file struct{ name, content string }

// tarball holds files that only root can read.
func tarball(files ...file) io.Reader {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		// Writing to memory cannot fail.
		_ = w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content)), ModTime: time.Now()})
		_, _ = io.WriteString(w, f.content)
	}
	_ = w.Close()
	return &buf
}
