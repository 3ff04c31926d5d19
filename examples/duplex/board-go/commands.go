package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const usage = `usage: board [list [--json]]
       board add TITLE...
       board move ID todo|doing|done
       board remove ID
`

const (
	exitOK      = 0
	exitFailure = 1 // there is no such card, or no room for another
	exitUsage   = 2
)

// outcome is what a command writes and how it ends.
type outcome struct {
	Stdout   blob `json:"stdout"`
	Stderr   blob `json:"stderr"`
	ExitCode int  `json:"exit_code"`
}

// run does what the words of a command line say, and tells whether the board
// has changed.
func (p *plugin) run(argv []string) (result outcome, changed bool) {
	if len(argv) == 0 {
		argv = []string{"list"}
	}
	switch name, rest := argv[0], argv[1:]; {
	case name == "list" && len(rest) == 0:
		return outcome{Stdout: p.listing()}, false
	case name == "list" && len(rest) == 1 && rest[0] == "--json":
		return outcome{Stdout: asJSON(p.board.cards)}, false
	case name == "add" && len(rest) > 0:
		return report(p.board.add(strings.Join(rest, " ")))
	case name == "move" && len(rest) == 2:
		if column, ok := columnNamed(rest[1]); ok {
			if id, err := strconv.Atoi(rest[0]); err == nil {
				return answerTo(p.move(id, column))
			}
		}
	case name == "remove" && len(rest) == 1:
		if id, err := strconv.Atoi(rest[0]); err == nil {
			_, err := p.board.remove(id)
			return answerTo(err)
		}
	case name == "help" || name == "--help" || name == "-h":
		return outcome{Stdout: blob(usage)}, false
	}
	return outcome{Stderr: blob(usage), ExitCode: exitUsage}, false
}

func answerTo(err error) (outcome, bool) {
	if err != nil {
		return outcome{Stderr: blob(err.Error() + "\n"), ExitCode: exitFailure}, false
	}
	return outcome{}, true
}

// report says the number of a new card, to be used in other commands.
func report(added card, err error) (outcome, bool) {
	if err != nil {
		return answerTo(err)
	}
	return outcome{Stdout: blob(fmt.Sprintln(added.ID))}, true
}

func (p *plugin) listing() blob {
	var text bytes.Buffer
	for index, column := range columns {
		for _, each := range p.board.in(index) {
			fmt.Fprintf(&text, "%d\t%s\t%s\n", each.ID, column.name, each.Title)
		}
	}
	return text.Bytes()
}

func asJSON(cards []card) blob {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(append([]card{}, cards...)); err != nil { // a list even if there are none
		panic(err) // cards are texts and numbers
	}
	return text.Bytes()
}
