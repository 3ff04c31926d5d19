package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"
)

const initWait = 3 * time.Second // for the host's answers during init, of the 10 s that it waits for ours

// begin takes up the board where an earlier process left it: the host keeps
// what was published last, also when its publisher crashes. That anything is
// refused or late is no reason not to start.
func (p *plugin) begin() {
	ctx, cancel := context.WithTimeout(context.Background(), initWait)
	defer cancel()
	// The manifest subscribes already; saying so again does no harm, and older
	// hosts only listen to this.
	if _, err := p.host.call(ctx, "host/snapshot/subscribe", map[string]any{"topic": inboxTopic}); err != nil {
		log.Printf("subscribe: %v", err)
	}
	latest, err := p.host.call(ctx, "host/snapshot/get", map[string]any{"topic": cardsTopic})
	if err != nil {
		log.Printf("get: %v", err)
		return
	}
	if isNull(latest["payload"]) {
		p.say("info", "the board is new", nil)
		p.publish()
		return
	}
	if err := p.restore(latest); err != nil {
		p.note = "The earlier board cannot be read: " + err.Error()
		p.say("warn", p.note, nil)
		return
	}
	p.say("info", "the board is restored", map[string]any{"cards": len(p.board.cards)})
}

func (p *plugin) restore(latest object) error {
	payload, err := required[blob](latest, "payload")
	if err != nil {
		return err
	}
	var earlier chunks
	parts, isWhole := earlier.receive(payload)
	switch {
	case earlier.mismatch != nil:
		return fmt.Errorf("it is of version %d, not %d", *earlier.mismatch, wireVersion)
	case !isWhole:
		return errors.New("it is not whole")
	}
	return p.board.restore(parts)
}

// takeIn adds a card for each of what others have published: a list of objects
// with a title.
func (p *plugin) takeIn(parts []json.RawMessage) {
	added, refused := 0, 0
	var why error
	for _, part := range parts {
		var listed []object
		if json.Unmarshal(part, &listed) != nil {
			refused, why = refused+1, errors.New("this is no list of objects")
			continue
		}
		for _, each := range listed {
			title, err := required[string](each, "title")
			if err == nil {
				_, err = p.board.add(title)
			}
			if err != nil {
				refused, why = refused+1, err
			} else {
				added++
			}
		}
	}
	p.note = ""
	if refused > 0 {
		p.note = fmt.Sprintf("%d from the inbox refused: %v", refused, why)
	}
	if added > 0 {
		p.publish()
	}
}

// publish lets everyone know the cards, in one chunk.
func (p *plugin) publish() {
	p.screen.chosen(&p.board) // the card under the cursor may be gone
	if !p.mayUseBus {
		return
	}
	payload, err := json.Marshal(chunk{
		Version: wireVersion, PublishedNS: uint64(time.Now().UnixNano()),
		IsFinal: true, Data: append([]card{}, p.board.cards...),
	})
	if err == nil {
		err = p.host.notify("host/snapshot/publish", map[string]any{"topic": cardsTopic, "payload": blob(payload)})
	}
	if err != nil {
		log.Printf("publish: %v", err)
	}
}
