//go:build !linux

package transfer

func withoutUnnamed() {}
