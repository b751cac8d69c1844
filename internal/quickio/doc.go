// Package quickio reads and writes sockets without telling Go's scheduler.
//
// The scheduler is told of each system call because it may take long. After a rest
// that wakes its monitor thread, which then looks on every 20 µs at first. A socket that
// does not block never takes long, and a program that rests between a handful of
// reads and writes spends half of its processor time on being watched
// (BenchmarkRareMessage: 78 µs for a message and its answer, 34 µs this way).
package quickio
