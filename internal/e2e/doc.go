// Package e2e tests the built binaries from outside: MCP clients over stdio, computers
// of the local engine, real programs on real screens. Nothing here reaches into a
// package of the product; what a test knows it learned from a tool's answer, from
// `info --json` or from the computer's home on disk.
package e2e
