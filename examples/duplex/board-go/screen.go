package main

import "fmt"

const (
	columnWidth  = 40 // cells at most: wider ones are hard to read
	narrowColumn = 8  // cells; where they would be narrower, only the chosen one is shown
	firstCard    = 3  // the row of it, below title, blank and heading

	keysHelp   = "a add  enter forward  backspace back  d delete  arrows choose"
	typingHelp = "enter add  esc cancel"
)

var (
	accent  = &color{255, 176, 0}
	muted   = &color{140, 140, 140}
	warning = &color{255, 96, 96}
)

// screen is what the user has chosen and is typing.
type screen struct {
	column, row int
	isTyping    bool
	typed       string
}

// draw shows the board as it is. note says what went wrong last, if it did.
func (s *screen) draw(b *board, note string, width, height uint16) *canvas {
	c := newCanvas(width, height)
	c.put(0, 0, int(width), "Board", style{fg: accent, modifier: bold})
	c.put(6, 0, int(width), cardCount(len(b.cards)), style{fg: muted})

	shown := []int{s.column}
	if int(width)/len(columns) >= narrowColumn {
		shown = []int{0, 1, 2}
	}
	wide := int(width) / len(shown)
	if wide > columnWidth {
		wide = columnWidth
	}
	if int(height) > firstCard { // or the headings would be where the foot is
		for place, column := range shown {
			s.drawColumn(c, b.in(column), column, place*wide, (place+1)*wide-1)
		}
	}
	s.drawFoot(c, note)
	return c
}

func (s *screen) drawColumn(c *canvas, cards []card, column, x, end int) {
	heading := style{modifier: bold | underlined}
	if column == s.column {
		heading.fg = accent
	}
	c.put(x, 2, end, fmt.Sprintf("%s %d", columns[column].heading, len(cards)), heading)
	room := int(c.Height) - firstCard - 2 // the foot, and a blank above it
	first := 0
	if column == s.column && s.row >= room { // scroll until the chosen one is the last
		first = s.row - room + 1
	}
	for row := first; row < len(cards) && row-first < room; row++ {
		look := style{}
		if column == done {
			look.fg = muted
		}
		if column == s.column && row == s.row {
			look.modifier = reversed
		}
		c.put(x, firstCard+row-first, end, fmt.Sprintf("%d %s", cards[row].ID, cards[row].Title), look)
	}
}

func (s *screen) drawFoot(c *canvas, note string) {
	foot, end := int(c.Height)-1, int(c.Width)
	if foot < 1 {
		return // there is the title
	}
	switch {
	case s.isTyping:
		const prompt = "New card: "
		c.put(0, foot-1, end, prompt+tail(s.typed+"_", end-len(prompt)), style{fg: accent})
		c.put(0, foot, end, typingHelp, style{fg: muted})
	case note != "":
		c.put(0, foot, end, note, style{fg: warning})
	default:
		c.put(0, foot, end, keysHelp, style{fg: muted})
	}
}

// chosen returns the card under the cursor, which it first moves to where one
// is.
func (s *screen) chosen(b *board) (card, bool) {
	cards := b.in(s.column)
	if s.row >= len(cards) {
		s.row = len(cards) - 1
	}
	if s.row < 0 {
		s.row = 0
	}
	if len(cards) == 0 {
		return card{}, false
	}
	return cards[s.row], true
}

// tail cuts what is typed where it began, since the end is what one looks at.
func tail(text string, room int) string {
	symbols := split(text)
	for len(symbols) > 0 && widthOf(symbols) > room {
		symbols = symbols[1:]
	}
	shown := ""
	for _, each := range symbols {
		shown += each.text
	}
	return shown
}

func cardCount(number int) string {
	if number == 1 {
		return "1 card"
	}
	return fmt.Sprintf("%d cards", number)
}
