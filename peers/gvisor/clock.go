package main

import (
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// epoch is when virtual time begins, for netstack: at 0 some of its times would look as if they were not set.
const epoch = time.Hour

// virtualClock is a tcpip.Clock that set moves. Each reading is a nanosecond later than the one before, as on a machine, where
// packets of one burst leave one after the other; a coarse clock stands still. Timers fire in fire alone, one after the other, so that
// a run can be repeated exactly. netstack's own faketime.ManualClock does not say when the next timer is due, and starts
// goroutines.
type virtualClock struct {
	mu     sync.Mutex
	now    time.Duration
	coarse bool
	timers []*virtualTimer
	// The timers that were armed so far.
	armed uint64
}

// virtualTimer is a timer of a virtualClock. The clock has a list of those that run.
type virtualTimer struct {
	clock   *virtualClock
	f       func()
	at      time.Duration
	ordinal uint64
}

// Now implements tcpip.Clock.
func (c *virtualClock) Now() time.Time { return time.Unix(0, int64(epoch+c.read())) }

// NowMonotonic implements tcpip.Clock.
func (c *virtualClock) NowMonotonic() tcpip.MonotonicTime {
	return tcpip.MonotonicTime{}.Add(epoch + c.read())
}

// AfterFunc implements tcpip.Clock.
func (c *virtualClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &virtualTimer{clock: c, f: f}
	t.Reset(d)
	return t
}

func (c *virtualClock) read() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.coarse {
		c.now++
	}
	return c.now
}

func (c *virtualClock) set(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, now)
}

// next returns when the next timer is due.
func (c *virtualClock) next() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.first(); t != nil {
		return t.at, true
	}
	return 0, false
}

// fire runs the next timer if it is due, and reports whether it was. The caller holds no lock of the stack.
func (c *virtualClock) fire() bool {
	c.mu.Lock()
	t := c.first()
	due := t != nil && t.at <= c.now
	if due {
		c.remove(t)
	}
	c.mu.Unlock()
	if due {
		t.f()
	}
	return due
}

// first returns the timer that is due next; of those due at the same time, the one armed first. mu is held.
func (c *virtualClock) first() *virtualTimer {
	var first *virtualTimer
	for _, t := range c.timers {
		if first == nil || t.at < first.at || t.at == first.at && t.ordinal < first.ordinal {
			first = t
		}
	}
	return first
}

// remove reports whether the timer ran. mu is held.
func (c *virtualClock) remove(t *virtualTimer) bool {
	for i, other := range c.timers {
		if other == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return true
		}
	}
	return false
}

// Stop implements tcpip.Timer.
func (t *virtualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.clock.remove(t)
}

// Reset implements tcpip.Timer.
func (t *virtualTimer) Reset(d time.Duration) {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(t)
	t.at, t.ordinal = c.now+max(d, 0), c.armed
	c.armed++
	c.timers = append(c.timers, t)
}
