package rfb_test

import (
	"bytes"
	"image"
	"testing"
	"testing/synctest"
	"time"

	"github.com/falleng0d/computer-use-mcp/rfb"
	"github.com/falleng0d/computer-use-mcp/rfb/rfbtest"
)

// Checklist 23: fences are echoed, in order and in step with what follows.
func TestChecklist23Fences(t *testing.T) {
	c := newCanvas(50, 50)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.FenceSupport, rfbtest.Raw)
	if f := next[rfbtest.Fence](t, client); f.Flags&rfbtest.FenceRequest == 0 {
		t.Errorf("the first fence is %+v", f)
	}
	for _, payload := range [][]byte{{}, {1}, bytes.Repeat([]byte{7}, 64)} {
		must(t, client.Fence(rfbtest.FenceRequest|rfbtest.FenceBlockBefore|rfbtest.FenceBlockAfter, payload))
		f := next[rfbtest.Fence](t, client)
		if f.Flags != rfbtest.FenceBlockBefore|rfbtest.FenceBlockAfter || !bytes.Equal(f.Payload, payload) {
			t.Errorf("echo %+v", f)
		}
	}
	// Unknown flags are not echoed, and echoes of nothing mean nothing.
	must(t, client.Fence(rfbtest.FenceRequest|1<<20, []byte{1}))
	if f := next[rfbtest.Fence](t, client); f.Flags != 0 {
		t.Errorf("echo %+v", f)
	}
	must(t, client.Fence(0, []byte("nobody asked")))
	must(t, client.Fence(0, nil))
	c.sync(t, client)
}

// Checklist 23: SyncNext ties the echo to the message that follows. Updates before
// the echo are in the old format, updates after it in the new one.
func TestChecklist23SyncNext(t *testing.T) {
	c := newCanvas(50, 50)
	client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.FenceSupport, rfbtest.ContinuousUpdates, rfbtest.Raw)
	pixels(t, client, false)
	must(t, client.EnableContinuousUpdates(true, 0, 0, 50, 50))
	stop := make(chan struct{})
	defer func() { stop <- struct{}{} }()
	go func() {
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				c.paint(c.bounds(), noise(i))
			}
		}
	}()
	formats := []string{"332", "bgrx", "565", "rgbx"}
	for i := range 40 {
		f := rfbtest.Formats[formats[i%len(formats)]]
		must(t, client.Fence(rfbtest.FenceRequest|rfbtest.FenceSyncNext, []byte{byte(i)}))
		must(t, client.Send(append([]byte{0, 0, 0, 0}, f.Bytes()...)))
		for { // a Raw rectangle of another format would put the client out of step
			if m := next[rfbtest.Fence](t, client); m.Flags&rfbtest.FenceRequest == 0 {
				break
			}
		}
		client.Format = f
	}
}

// Checklist 24: without fences nothing would bound continuous updates, so there are
// none.
func TestChecklist24ContinuousUpdatesNeedFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(50, 50)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.ContinuousUpdates, rfbtest.Raw)
		pixels(t, client, false)
		must(t, client.EnableContinuousUpdates(true, 0, 0, 50, 50))
		next[rfbtest.EndOfContinuousUpdates](t, client)
		c.paint(c.bounds(), noise(1))
		if !client.Quiet(time.Minute) {
			t.Error("something came")
		}
	})
}

// Trap 18: continuous updates from beginning to end.
func TestContinuousUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(50, 50)
		client := connect(t, rfb.Config{Screen: c.screen}, rfbtest.FenceSupport, rfbtest.ContinuousUpdates, rfbtest.ZRLE)
		next[rfbtest.EndOfContinuousUpdates](t, client) // they are understood
		must(t, client.EnableContinuousUpdates(true, 0, 0, 25, 50))
		next[*rfbtest.Update](t, client)
		for i := range 20 {
			c.paint(image.Rect(0, 0, 24, 50), noise(uint64(i)))
			next[*rfbtest.Update](t, client)
		}
		// Incremental requests mean nothing now, full ones do.
		for range 10 {
			must(t, client.RequestAll(true))
		}
		quiet := func() bool {
			for !client.Quiet(time.Minute) {
				if m, err := client.Next(); err != nil {
					t.Fatal(err)
				} else if _, fence := m.(rfbtest.Fence); !fence {
					return false
				}
			}
			return true
		}
		c.paint(image.Rect(32, 0, 50, 50), flat(0x123456))
		if !quiet() {
			t.Error("a part that is not meant was sent")
		}
		must(t, client.RequestAll(false))
		next[*rfbtest.Update](t, client)
		c.same(t, client)
		// Another place.
		must(t, client.EnableContinuousUpdates(true, 25, 0, 25, 50))
		c.paint(image.Rect(40, 0, 50, 50), flat(0x654321))
		next[*rfbtest.Update](t, client)
		c.same(t, client)
		for range 2 { // each end is answered
			must(t, client.EnableContinuousUpdates(false, 0, 0, 0, 0))
			next[rfbtest.EndOfContinuousUpdates](t, client)
		}
		c.paint(c.bounds(), noise(9))
		if !quiet() {
			t.Error("updates go on after the end")
		}
	})
}

// Trap 16: what is on its way to a viewer that does not answer is bounded, whatever
// happens on the screen, and in the end it is given up.
func TestChecklist24Pacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(200, 200)
		list := []int32{rfbtest.FenceSupport, rfbtest.ContinuousUpdates, rfbtest.Raw}
		client, conn := connectConn(t, rfb.Config{Screen: c.screen}, list...)
		next[rfbtest.EndOfContinuousUpdates](t, client)
		must(t, client.EnableContinuousUpdates(true, 0, 0, 200, 200))
		client.Mute = true // it reads, and echoes no fence
		read := make(chan struct{})
		updates := 0
		go func() {
			defer close(read)
			for {
				if m, err := client.Next(); err != nil {
					return
				} else if _, ok := m.(*rfbtest.Update); ok {
					updates++
				}
			}
		}()
		for i := range 600 {
			time.Sleep(time.Second / 60)
			c.paint(c.bounds(), noise(uint64(i)))
		}
		synctest.Wait()
		if updates < 1 || updates > 3 {
			t.Errorf("%d updates of 160 kB were on their way", updates)
		}
		<-conn.ended
		if conn.err != rfb.ErrTimeout {
			t.Errorf("ended with %v", conn.err)
		}
		<-read
	})
}

// Trap 16: a fence that was left unanswered counts also when the viewer has ended
// continuous updates meanwhile and begins them again.
func TestUnansweredFenceOfEarlierUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCanvas(200, 200)
		list := []int32{rfbtest.FenceSupport, rfbtest.ContinuousUpdates, rfbtest.Raw}
		client, conn := connectConn(t, rfb.Config{Screen: c.screen}, list...)
		next[rfbtest.EndOfContinuousUpdates](t, client)
		client.Mute = true
		must(t, client.EnableContinuousUpdates(true, 0, 0, 200, 200))
		next[*rfbtest.Update](t, client) // 160 kB: more than may be on its way
		must(t, client.EnableContinuousUpdates(false, 0, 0, 0, 0))
		next[rfbtest.EndOfContinuousUpdates](t, client)
		time.Sleep(5 * time.Minute)
		must(t, client.EnableContinuousUpdates(true, 0, 0, 200, 200))
		select {
		case <-conn.ended:
		case <-time.After(5 * time.Minute):
			t.Fatal("it goes on, and shows nothing")
		}
		if conn.err != rfb.ErrTimeout {
			t.Errorf("ended with %v", conn.err)
		}
	})
}
