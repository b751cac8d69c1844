//go:build !windows

package opener

import (
	"os/exec"
	"syscall"
)

// detach keeps a signal to this process's group, such as an MCP client's when it ends,
// from the person's browser.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
