// A board of cards, as a plugin of the duplex contract, with nothing but the
// standard library: also a model for a language that has no SDK.
//
//	frame.go     bytes to bodies and back
//	queue.go     the host's calls that wait
//	rpc.go       bodies to calls and answers, in both directions
//	params.go    members of JSON objects, strictly
//	chunks.go    publishes that come in parts
//	plugin.go    the methods of the contract
//	bus.go       what is published, heard and kept
//	board.go     the cards
//	screen.go    the board on a canvas
//	canvas.go    text to cells
//	keys.go      what keys do
//	commands.go  what command lines do
package main

import (
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix(name + ": ")
	// A host that went away is then an error of Write and not a death by signal.
	signal.Ignore(syscall.SIGPIPE)
	host := newConn(os.Stdout)
	board := &plugin{host: host}
	if err := host.serve(os.Stdin, board.methods()); err != nil {
		log.Fatal(err)
	}
}
