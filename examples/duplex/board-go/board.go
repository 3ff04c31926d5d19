package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxCards = 200 // so that a board always fits one chunk, and one screenful of scrolling
	maxTitle = 120 // characters
)

var (
	errFull    = fmt.Errorf("the board is full: it holds %d cards", maxCards)
	errNoTitle = fmt.Errorf("a title has 1 to %d characters", maxTitle)
	errNoCard  = errors.New("there is no such card")
)

// columns are where a card can be, from left to right.
var columns = []struct{ name, heading string }{{"todo", "To do"}, {"doing", "Doing"}, {"done", "Done"}}

const done = 2 // the index of the last of them

func columnNamed(name string) (int, bool) {
	for index, column := range columns {
		if column.name == name {
			return index, true
		}
	}
	return 0, false
}

type card struct {
	ID     int    `json:"id"`
	Title  string `json:"title"`
	Column string `json:"column"`
}

// board is the cards, in the order in which they came into their columns.
type board struct{ cards []card }

func (b *board) add(title string) (card, error) {
	title, err := cleaned(title)
	if err != nil {
		return card{}, err
	}
	if len(b.cards) >= maxCards {
		return card{}, errFull
	}
	id := 1
	for _, each := range b.cards {
		if each.ID >= id {
			id = each.ID + 1
		}
	}
	added := card{id, title, columns[0].name}
	b.cards = append(b.cards, added)
	return added, nil
}

// move puts a card at the end of a column.
func (b *board) move(id, column int) (card, error) {
	moved, err := b.remove(id)
	if err != nil {
		return card{}, err
	}
	moved.Column = columns[column].name
	b.cards = append(b.cards, moved)
	return moved, nil
}

func (b *board) remove(id int) (card, error) {
	for index, each := range b.cards {
		if each.ID == id {
			b.cards = append(b.cards[:index:index], b.cards[index+1:]...)
			return each, nil
		}
	}
	return card{}, errNoCard
}

func (b *board) in(column int) []card {
	found := []card{}
	for _, each := range b.cards {
		if each.Column == columns[column].name {
			found = append(found, each)
		}
	}
	return found
}

// restore takes over the cards of an earlier board, or none of them if that
// could not have been one.
func (b *board) restore(parts []json.RawMessage) error {
	cards, seen := []card{}, map[int]bool{}
	for _, part := range parts {
		var listed []object
		if err := json.Unmarshal(part, &listed); err != nil {
			return errors.New("the cards are no list")
		}
		for _, each := range listed {
			id, err := required[int](each, "id")
			title, err2 := required[string](each, "title")
			name, err3 := required[string](each, "column")
			_, ok := columnNamed(name)
			clean, err4 := cleaned(title)
			if err != nil || err2 != nil || err3 != nil || err4 != nil || !ok || id < 1 || seen[id] || len(cards) == maxCards {
				return errors.New("a card is none of this board's")
			}
			seen[id] = true
			cards = append(cards, card{id, clean, name})
		}
	}
	b.cards = cards
	return nil
}

// cleaned returns a title in one line, without control characters.
func cleaned(title string) (string, error) {
	if !utf8.ValidString(title) {
		return "", errNoTitle
	}
	plain := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, title)
	plain = strings.Join(strings.Fields(plain), " ")
	if length := utf8.RuneCountInString(plain); length < 1 || length > maxTitle {
		return "", errNoTitle
	}
	return plain, nil
}
