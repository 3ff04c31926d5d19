package main

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

const (
	modShift = 1 // the bit of mods
	released = "release"
)

// key is what was pressed: its name, or "char" with the character. Newer hosts
// may have more names, which mean nothing here.
type key struct {
	name string
	ch   string
	mods uint8
	kind string
}

func parseKey(raw json.RawMessage) (key, error) {
	event, err := parseObject(raw)
	if err != nil {
		return key{}, errors.New("key is not an object")
	}
	code, err := parseObject(event["code"])
	if err != nil {
		return key{}, errors.New("code is not an object")
	}
	var pressed key
	if pressed.name, err = required[string](code, "type"); err != nil {
		return key{}, err
	}
	if pressed.name == "char" {
		if pressed.ch, err = required[string](code, "ch"); err != nil || utf8.RuneCountInString(pressed.ch) != 1 {
			return key{}, errors.New("ch is not one character")
		}
	}
	if pressed.mods, err = optional[uint8](event, "mods", 0); err != nil {
		return key{}, err
	}
	pressed.kind, err = optional(event, "kind", "press")
	return pressed, err
}

// String returns the name of a key; that of a character is quoted.
func (k key) String() string {
	if k.name == "char" {
		return "'" + k.ch + "'"
	}
	return k.name
}

// press does what a key stands for, and tells whether the board has changed.
func (p *plugin) press(pressed key) (changed bool) {
	if pressed.kind == released || pressed.mods&^modShift != 0 {
		return false // ctrl+a and the like are the host's
	}
	p.note = ""
	if p.screen.isTyping {
		return p.typeOn(pressed)
	}
	at, found := p.screen.chosen(&p.board)
	switch name := pressed.String(); {
	case name == "left" || name == "'h'":
		p.choose(p.screen.column - 1)
	case name == "right" || name == "'l'":
		p.choose(p.screen.column + 1)
	case name == "up" || name == "'k'":
		p.screen.row--
	case name == "down" || name == "'j'":
		p.screen.row++
	case name == "home":
		p.screen.row = 0
	case name == "end":
		p.screen.row = maxCards
	case name == "'a'":
		p.screen.isTyping, p.screen.typed = true, ""
	case name == "enter" && found && p.screen.column < done:
		changed = p.changed(p.move(at.ID, p.screen.column+1))
	case name == "backspace" && found && p.screen.column > 0:
		changed = p.changed(p.move(at.ID, p.screen.column-1))
	case (name == "delete" || name == "'d'") && found:
		_, err := p.board.remove(at.ID)
		changed = p.changed(err)
	}
	p.screen.chosen(&p.board) // bring the cursor back onto a card
	return changed
}

func (p *plugin) typeOn(pressed key) bool {
	switch pressed.name {
	case "esc":
		p.screen.isTyping = false
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(p.screen.typed)
		p.screen.typed = p.screen.typed[:len(p.screen.typed)-size]
	case "char":
		if utf8.RuneCountInString(p.screen.typed) < maxTitle {
			p.screen.typed += pressed.ch
		}
	case "enter":
		p.screen.isTyping = false
		_, err := p.board.add(p.screen.typed)
		return p.changed(err)
	}
	return false
}

func (p *plugin) choose(column int) {
	if 0 <= column && column < len(columns) {
		p.screen.column = column
	}
}

// changed turns what went wrong, if anything did, into the note on the screen.
func (p *plugin) changed(err error) bool {
	if err != nil {
		p.note = err.Error()
	}
	return err == nil
}
