package main

import "encoding/json"

const (
	wireVersion = 1        // of what is in the chunks of board.cards and board.inbox
	maxHeld     = 67108864 // bytes of chunks that wait for the last of their publish
)

// chunk is the envelope of a publish, or of one part of it. A board is never so
// large that it would have to be cut; what comes in may be.
type chunk struct {
	Version     uint32 `json:"version"`
	PublishedNS uint64 `json:"published_ns"`
	Partial     bool   `json:"partial"`
	Index       uint32 `json:"chunk_index"`
	IsFinal     bool   `json:"is_final"`
	Data        any    `json:"data"`
}

// chunks puts the parts of one topic's publishes together.
type chunks struct {
	data        []json.RawMessage
	held        int
	isOpen      bool // a chunk 0 has come, and its last one has not
	publishedNS uint64
	mismatch    *uint32 // the version that the publisher speaks, if it is another
	dropped     int     // chunks that did not follow on the one before them, or were none
}

// receive takes a chunk, and returns the data of all if it was the last one.
func (c *chunks) receive(payload []byte) ([]json.RawMessage, bool) {
	members, err := parseObject(payload)
	if err != nil {
		c.dropped++
		return nil, false
	}
	version, err := required[uint32](members, "version")
	if err == nil && version != wireVersion {
		*c = chunks{mismatch: &version, dropped: c.dropped}
		return nil, false
	}
	publishedNS, err2 := required[uint64](members, "published_ns")
	index, err3 := optional[uint32](members, "chunk_index", 0)
	isFinal, err4 := optional(members, "is_final", true)
	data, ok := members["data"]
	if err != nil || err2 != nil || err3 != nil || err4 != nil || !ok {
		c.dropped++
		return nil, false
	}
	if index == 0 { // whatever was not finished never will be
		*c = chunks{dropped: c.dropped, isOpen: true, publishedNS: publishedNS}
	}
	if !c.isOpen || publishedNS != c.publishedNS || uint64(index) != uint64(len(c.data)) || c.held+len(data) > maxHeld {
		*c = chunks{dropped: c.dropped + 1}
		return nil, false
	}
	c.data = append(c.data, data)
	c.held += len(data)
	if !isFinal {
		return nil, false
	}
	whole := c.data
	*c = chunks{dropped: c.dropped}
	return whole, true
}
