package opener

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C in this process's console from the person's browser.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
