package session

import (
	"context"
	"io"

	"github.com/falleng0d/computer-use-mcp/api"
)

// PutArchive unpacks an archive, which it begins to read once nothing is known that
// would refuse it. progress is told about every second what was copied.
func (s *Session) PutArchive(ctx context.Context, r api.PutArchiveRequest, archive io.Reader, progress func(api.Progress)) (result api.TransferResult, err error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	return s.table.cfg.Files.Put(ctx, s.work.folder(), r, archive, progress)
}

// GetArchive packs a file or folder into an archive. An error before anything was
// written is about the path; after that the archive is broken off.
func (s *Session) GetArchive(ctx context.Context, r api.GetArchiveRequest, archive io.Writer) error {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return s.table.cfg.Files.Get(ctx, s.work.folder(), r, archive)
}
