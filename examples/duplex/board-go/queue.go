package main

import "sync"

const (
	maxQueued     = 4 * maxBody // bytes of bodies that wait to be handled
	queuedMessage = 512         // bytes that a waiting message counts for beyond its body
)

// queue holds, in order, the calls of the host that wait for the handlers. A
// channel would hold a number of them, and they are of 30 bytes or of 16 MiB.
// While it is full nothing is read, not even the answer that a handler may be
// waiting for; but every such wait has a deadline, so it ends.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	calls   []call
	bytes   int
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

func (q *queue) push(c call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > maxQueued {
		q.changed.Wait()
	}
	q.calls = append(q.calls, c)
	q.bytes += len(c.params) + queuedMessage
	q.changed.Broadcast()
}

// close lets pop go on until nothing is left.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func (q *queue) pop() (call, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.calls) == 0 {
		if q.closed {
			return call{}, false
		}
		q.changed.Wait()
	}
	c := q.calls[0]
	q.calls[0] = call{} // or its params would be held until the slice moves
	q.calls = q.calls[1:]
	q.bytes -= len(c.params) + queuedMessage
	q.changed.Broadcast()
	return c, true
}
