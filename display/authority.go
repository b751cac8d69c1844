package display

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// cookieSize is the length of an MIT-MAGIC-COOKIE-1.
const cookieSize = 16

// authority returns the contents of an Xauthority file with one cookie that is
// good for every display (family "wild", no address, no number), because the
// file is written before the display is known.
func authority(cookie []byte) []byte {
	const familyWild = 0xffff
	b := binary.BigEndian.AppendUint16(nil, familyWild)
	for _, field := range []string{"", "", "MIT-MAGIC-COOKIE-1", string(cookie)} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(field)))
		b = append(b, field...)
	}
	return b
}

// writeFile puts a file in place in one step, readable by its owner alone; nil
// is the user of this process.
func writeFile(path string, data []byte, owner *Credential) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && owner != nil {
		err = f.Chown(int(owner.UID), int(owner.GID))
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// writeShared is writeFile for a file that a group can read and its user cannot, unless
// in that group; nil is the user of this process.
func writeShared(path string, data []byte, to *Credential) error {
	if to == nil {
		return writeFile(path, data, nil)
	}
	if err := writeFile(path, data, &Credential{UID: uint32(os.Geteuid()), GID: to.GID}); err != nil {
		return err
	}
	return os.Chmod(path, 0o640)
}

// checkWay returns an error if a user cannot pass through a folder above path; nil
// is the user of this process.
func checkWay(path string, user *Credential) error {
	if user == nil || user.UID == 0 {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		pass := os.FileMode(0o001)
		switch owner := info.Sys().(*syscall.Stat_t); {
		case owner.Uid == user.UID:
			pass = 0o100
		case owner.Gid == user.GID:
			pass = 0o010
		}
		if info.Mode()&pass == 0 {
			return fmt.Errorf("folder %s is closed to user %d, who needs %s", dir, user.UID, path)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
