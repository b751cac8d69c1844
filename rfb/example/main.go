// Command example serves a picture that has nothing to do with X: a gradient that
// moves. Connect any VNC viewer to 127.0.0.1:5901 with the password "gradient"; keys
// and buttons appear on standard output.
package main

import (
	"context"
	"flag"
	"fmt"
	"image"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/falleng0d/computer-use-mcp/capture/frame"
	"github.com/falleng0d/computer-use-mcp/rfb"
)

const (
	width, height = 640, 480
	password      = "gradient"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:5901", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	buffer := frame.NewBuffer()
	buffer.Reset(width, height)
	screen := rfb.NewScreen(buffer, "moving gradient")
	server := &rfb.Server{
		Config: func(int, net.Addr) rfb.Config {
			return rfb.Config{Screen: screen, Password: password, Role: rfb.Controller, Input: printer{}}
		},
		Log: slog.Default(),
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var animating sync.WaitGroup
	animating.Go(func() { animate(ctx, buffer) })
	defer animating.Wait()
	defer cancel()
	return server.Serve(ctx, l)
}

// animate draws 20 pictures a second, but only while somebody waits for one.
func animate(ctx context.Context, buffer *frame.Buffer) {
	pix := make([]uint32, width*height)
	all := []image.Rectangle{image.Rect(0, 0, width, height)}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for shift := 0; ; shift++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if buffer.Waiters() == 0 {
			select {
			case <-buffer.Wanted():
			case <-ctx.Done():
				return
			}
		}
		for i := range pix {
			x, y := i%width+shift, i/width
			pix[i] = uint32(x&0xff)<<16 | uint32(y&0xff)<<8 | uint32((x+y)&0xff)
		}
		buffer.Publish(pix, width, all)
	}
}

// printer is an input device that says what it is told.
type printer struct{}

func (printer) Key(keysym uint32, down bool) error {
	fmt.Printf("key %#x %v\n", keysym, down)
	return nil
}

func (printer) Keycode(keycode byte, down bool) error {
	fmt.Printf("keycode %d %v\n", keycode, down)
	return nil
}

func (printer) Move(x, y int) error { return nil }

func (printer) Button(button int, down bool) error {
	fmt.Printf("button %d %v\n", button, down)
	return nil
}

func (printer) Release(context.Context) error { return nil }
