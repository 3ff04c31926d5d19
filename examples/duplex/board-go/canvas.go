package main

import (
	"strings"
	"unicode"
)

const (
	bold = 1 << iota
	dim
	italic
	underlined
	reversed
)

type color struct {
	R uint8 `json:"r"`
	G uint8 `json:"g"`
	B uint8 `json:"b"`
}

type style struct {
	fg       *color
	modifier uint16
}

type coord struct {
	X int `json:"x"`
	Y int `json:"y"`
}

type cell struct {
	Symbol   string `json:"symbol"`
	FG       *color `json:"fg,omitempty"`
	Modifier uint16 `json:"modifier"`
}

// canvas is a screen to draw on, in the form in which it travels. Its cells
// are sent in the order in which they were drawn, so the same drawing gives
// the same bytes.
type canvas struct {
	Width  uint16   `json:"width"`
	Height uint16   `json:"height"`
	Cells  [][2]any `json:"cells"` // pairs of a coord and a cell
}

func newCanvas(width, height uint16) *canvas {
	return &canvas{width, height, [][2]any{}} // and not nil, which would be sent as null
}

// put draws text from column x of row y, up to column end, with an ellipsis
// where it has to be cut.
func (c *canvas) put(x, y, end int, text string, look style) {
	if end > int(c.Width) {
		end = int(c.Width)
	}
	if y < 0 || y >= int(c.Height) || x >= end {
		return
	}
	symbols := split(text)
	if room := end - x; widthOf(symbols) > room {
		for len(symbols) > 0 && widthOf(symbols) > room-1 {
			symbols = symbols[:len(symbols)-1]
		}
		symbols = append(symbols, symbol{"…", 1})
	}
	for _, each := range symbols {
		c.Cells = append(c.Cells, [2]any{coord{x, y}, cell{each.text, look.fg, look.modifier}})
		x += each.width
	}
}

// symbol is what a terminal shows in one place, or in two.
type symbol struct {
	text  string
	width int
}

func widthOf(symbols []symbol) int {
	total := 0
	for _, each := range symbols {
		total += each.width
	}
	return total
}

const joiner = '\u200d' // what makes one emoji of several

// split cuts text into symbols: each character with all that combines with it.
func split(text string) []symbol {
	symbols := []symbol{}
	for _, r := range text {
		last := len(symbols) - 1
		switch {
		case unicode.IsControl(r):
		case last >= 0 && (unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || strings.HasSuffix(symbols[last].text, string(joiner))):
			symbols[last].text += string(r)
		default:
			symbols = append(symbols, symbol{string(r), width(r)})
		}
	}
	return symbols
}

// width is 2 for the scripts and pictures that terminals draw that wide. The
// standard library does not have the full table; these are the common ones.
func width(r rune) int {
	isPicture := 0x1f300 <= r && r <= 0x1faff
	isFullWidth := 0x3000 <= r && r <= 0x303e || 0xff01 <= r && r <= 0xff60
	if isPicture || isFullWidth || unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) {
		return 2
	}
	return 1
}
