package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// file is one in an archive. Its contents are data, or those of the file from.
type file struct {
	name string // with slashes
	from string
	data []byte
	mode os.FileMode
}

func (f file) read() ([]byte, error) {
	if f.from == "" {
		return f.data, nil
	}
	return os.ReadFile(f.from)
}

// packed is the time of every file in an archive: the real one would make each build
// another. It is the first that zip can hold.
var packed = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// pack writes an archive whose files are in a folder of its own name: zip for Windows,
// compressed tar for the others. It returns the archive's name.
func pack(dir, name, goos string, files []file) (archive string, err error) {
	archive, write := name+".tar.gz", writeTar
	if goos == "windows" {
		archive, write = name+".zip", writeZip
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	f, err := os.Create(filepath.Join(dir, archive))
	if err != nil {
		return "", err
	}
	return archive, errors.Join(write(f, name, files), f.Close())
}

func writeTar(w io.Writer, folder string, files []file) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		data, err := f.read()
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: path.Join(folder, f.name), Mode: int64(f.mode), Size: int64(len(data)),
			ModTime: packed, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func writeZip(w io.Writer, folder string, files []file) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		data, err := f.read()
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: packed}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(data); err != nil {
			return err
		}
	}
	return archive.Close()
}
