package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"
)

const (
	name       = "board-go"
	version    = "1.0.0"
	abiVersion = 2

	namespace  = "board"
	addAction  = "board.add"
	cardsTopic = "board.cards"
	inboxTopic = "board.inbox"

	actionWait = 5 * time.Second // for what other plugins do when a card is done
)

// manifest is what manifest.toml says: a host may want to hear it from us.
var manifest = map[string]any{
	"plugin": map[string]any{
		"name": name, "version": version, "abi_version": abiVersion,
		"description": "A board of cards in Go, standard library only",
	},
	"capabilities": map[string]any{"event_bus": true},
	"provides": map[string]any{
		"screens": []string{"board"}, "commands": []string{addAction},
		"cli_namespaces": []string{namespace}, "snapshots": []string{cardsTopic},
	},
	"subscribes": map[string]any{"snapshots": []string{inboxTopic}},
	"lifecycle":  map[string]any{"spawn": "lazy", "idle_reap_secs": 600},
}

// plugin is the board and what the host sees of it. Its methods run one after
// another, so it needs no lock; only tellDone runs beside them.
type plugin struct {
	host      *conn
	board     board
	screen    screen
	inbox     chunks
	note      string // what went wrong last, for the foot of the screen
	onDone    string // the action to invoke when a card is done, if the user wants one
	mayUseBus bool
	hasBegun  bool
}

func (p *plugin) methods() map[string]method {
	return map[string]method{
		"plugin/init":         {serve: p.init},
		"plugin/shutdown":     {serve: p.shutdown, isLast: true},
		"plugin/render":       {serve: p.render},
		"plugin/cli_dispatch": {serve: p.cliDispatch},
		"host/action/invoke":  {serve: p.invoke}, // the owner of an action is asked by the caller's method
		"plugin/handle_key":   {serve: p.handleKey, isNotification: true},
		"plugin/handle_event": {serve: p.handleEvent, isNotification: true},
	}
}

func (p *plugin) init(raw json.RawMessage) (any, error) {
	params, err := parseParams(raw)
	if err != nil {
		return nil, err
	}
	granted, err := required[words](params, "granted_capabilities")
	if err != nil {
		return nil, err
	}
	if _, err = required[string](params, "manifest_path"); err != nil {
		return nil, err
	}
	abi, err := required[uint32](params, "abi_version")
	if err != nil {
		return nil, err
	}
	if abi != abiVersion {
		return nil, &rpcError{manifestValidation, fmt.Sprintf("the host speaks ABI %d, this plugin %d", abi, abiVersion)}
	}
	for _, each := range granted {
		p.mayUseBus = p.mayUseBus || each == "event_bus"
	}
	p.configure(params["config"])
	if p.mayUseBus && !p.hasBegun {
		p.begin()
	}
	p.hasBegun = true
	return map[string]any{"name": name, "version": version, "manifest": manifest, "abi_version": abiVersion}, nil
}

// configure reads what the user has set for this plugin, such as
// {"on_done": "notify.send"}.
func (p *plugin) configure(raw json.RawMessage) {
	config, err := parseObject(raw)
	if err != nil {
		return
	}
	if p.onDone, err = optional(config, "on_done", ""); err != nil {
		p.say("warn", err.Error(), nil)
	}
}

// shutdown has nothing to save: everything was published. The process ends
// after it, or when its input does, which a host may close without a word.
func (p *plugin) shutdown(json.RawMessage) (any, error) { return struct{}{}, nil }

func (p *plugin) render(raw json.RawMessage) (any, error) {
	params, err := parseParams(raw)
	if err != nil {
		return nil, err
	}
	viewport, err := parseObject(params["viewport"])
	if err != nil {
		return nil, errors.New("viewport is not an object")
	}
	width, err := required[uint16](viewport, "width")
	if err != nil {
		return nil, err
	}
	height, err := required[uint16](viewport, "height")
	if err != nil {
		return nil, err
	}
	if _, err := optional[uint64](params, "generation", 0); err != nil {
		return nil, err
	}
	return map[string]any{
		"buffer":        p.screen.draw(&p.board, p.note, width, height),
		"redraw":        false,
		"captures_text": p.screen.isTyping,
	}, nil
}

func (p *plugin) handleKey(raw json.RawMessage) (any, error) {
	params, err := parseParams(raw)
	if err != nil {
		return nil, err
	}
	if _, err = required[string](params, "screen_id"); err != nil { // there is one screen only
		return nil, err
	}
	if _, err = required[uint64](params, "generation"); err != nil {
		return nil, err
	}
	pressed, err := parseKey(params["key"])
	if err == nil && p.press(pressed) {
		p.publish()
	}
	return nil, err
}

func (p *plugin) handleEvent(raw json.RawMessage) (any, error) {
	params, err := parseParams(raw)
	if err != nil {
		return nil, err
	}
	topic, err := required[string](params, "topic")
	if err != nil {
		return nil, err
	}
	payload, err := required[blob](params, "payload")
	if err != nil || topic != inboxTopic {
		return nil, err
	}
	if parts, ok := p.inbox.receive(payload); ok {
		p.takeIn(parts)
	} else if p.inbox.mismatch != nil {
		p.note = fmt.Sprintf("The inbox speaks version %d, this board %d.", *p.inbox.mismatch, wireVersion)
	}
	return nil, nil
}

func (p *plugin) cliDispatch(raw json.RawMessage) (any, error) {
	params, err := parseParams(raw)
	if err != nil {
		return nil, err
	}
	asked, err := required[string](params, "namespace")
	if err != nil {
		return nil, err
	}
	argv, err := required[words](params, "argv")
	if err != nil {
		return nil, err
	}
	if asked != namespace {
		text := fmt.Sprintf("plugin does not handle namespace %q\n", asked)
		return outcome{Stderr: blob(text), ExitCode: exitUsage}, nil
	}
	result, changed := p.run(argv)
	if changed {
		p.publish()
	}
	return result, nil
}

// invoke does board.add: its payload is a title, its answer {"id": 7}.
func (p *plugin) invoke(raw json.RawMessage) (any, error) {
	params, err := parseParams(raw)
	if err != nil {
		return nil, err
	}
	action, err := required[string](params, "action")
	if err != nil {
		return nil, err
	}
	payload, err := required[blob](params, "payload")
	if err != nil {
		return nil, err
	}
	if _, err := optional[uint64](params, "timeout_ms", 0); err != nil { // the host's to keep
		return nil, err
	}
	if action != addAction {
		return nil, &rpcError{methodNotFound, "action not found: " + action}
	}
	added, err := p.board.add(string(payload))
	if err != nil {
		return nil, err
	}
	p.publish()
	return map[string]any{"payload": blob(fmt.Sprintf(`{"id": %d}`, added.ID))}, nil
}

// move puts a card into a column, and tells whoever wants to know that it is
// done.
func (p *plugin) move(id, column int) error {
	moved, err := p.board.move(id, column)
	if err == nil && column == done && p.onDone != "" {
		go p.tellDone(p.onDone, moved.Title)
	}
	return err
}

// tellDone runs beside the handlers: nobody should wait for another plugin to
// see their key do something.
func (p *plugin) tellDone(action, title string) {
	ctx, cancel := context.WithTimeout(context.Background(), actionWait)
	defer cancel()
	_, err := p.host.call(ctx, "host/action/invoke", map[string]any{
		"action": action, "payload": blob(title), "timeout_ms": actionWait.Milliseconds(),
	})
	if err != nil && !errors.Is(err, errGone) {
		p.say("warn", action+" failed: "+err.Error(), map[string]any{"title": title})
	}
}

// say writes to the host's log.
func (p *plugin) say(level, message string, fields map[string]any) {
	params := map[string]any{"level": level, "message": message}
	if fields != nil {
		params["fields"] = fields
	}
	if err := p.host.notify("host/log", params); err != nil {
		log.Printf("log: %v", err)
	}
}
