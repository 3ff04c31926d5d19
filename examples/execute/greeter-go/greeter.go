package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	maxLine  = 1048576
	protocol = "rterm.plugin.v1"
	readWait = 250 * time.Millisecond // half of what a host gives us to exit
)

var errTooLong = fmt.Errorf("a line is longer than %d bytes", maxLine)

// A map and not a struct: encoding/json matches struct fields without regard
// to case, so an unknown field "Type" would overwrite "type".
type object map[string]json.RawMessage

type manifest struct {
	PluginID        string   `json:"plugin_id"`
	PluginVersion   string   `json:"plugin_version"`
	ProtocolVersion string   `json:"protocol_version"`
	ExposedTools    []string `json:"exposed_tools"`
}

type handshake struct {
	Type     string   `json:"type"`
	Manifest manifest `json:"manifest"`
}

type response struct {
	Type      string     `json:"type"`
	RequestID string     `json:"request_id"`
	Status    string     `json:"status"`
	Output    any        `json:"output,omitempty"`
	Error     *toolError `json:"error,omitempty"`
}

type toolError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func invalidInput(message string) *toolError {
	return &toolError{"invalid_input", message}
}

func greet(input object) (any, *toolError) {
	name, ok := asString(input["name"])
	if !ok || name == "" {
		return nil, invalidInput("name must be a non-empty string")
	}
	return map[string]string{"text": "Hello " + name}, nil
}

func add(input object) (any, *toolError) {
	// Into any and not []float64, which would take a null for a 0.
	var value any
	if err := json.Unmarshal(input["numbers"], &value); err != nil {
		return nil, invalidInput("numbers must be a list of numbers in the range of a double")
	}
	numbers, ok := value.([]any)
	if !ok {
		return nil, invalidInput("numbers must be a list")
	}
	sum := 0.0
	for _, item := range numbers {
		n, ok := item.(float64)
		if !ok {
			return nil, invalidInput("numbers must hold numbers only")
		}
		sum += n
	}
	if math.IsInf(sum, 0) {
		return nil, invalidInput("the sum is beyond the range of a double")
	}
	return map[string]float64{"sum": sum}, nil
}

func call(tool string, rawInput json.RawMessage) (any, *toolError) {
	// Neither tool takes an input that is no object; the nil map it leaves
	// behind lacks every key, which is what they report.
	var input object
	_ = json.Unmarshal(rawInput, &input)
	switch tool {
	case "greet":
		return greet(input)
	case "add":
		return add(input)
	}
	return nil, &toolError{"unknown_tool", "the tools are greet and add"}
}

// asString goes through a pointer because Unmarshal leaves a plain string
// untouched, and reports no error, for null.
func asString(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// readMessage returns io.EOF only where the input ends between two lines.
func readMessage(in *bufio.Reader, kind string) (object, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errTooLong
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, errors.New("the input ended inside a line")
	case err != nil:
		return nil, err
	}
	// encoding/json would silently replace bad bytes.
	if !utf8.Valid(line) {
		return nil, errors.New("a line is not UTF-8")
	}
	var message object
	if err := json.Unmarshal(line, &message); err != nil {
		return nil, fmt.Errorf("expected a %s: %w", kind, err)
	}
	if got, ok := asString(message["type"]); !ok || got != kind {
		return nil, fmt.Errorf("expected a message of type %s", kind)
	}
	return message, nil
}

func send(out io.Writer, message any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return err
	}
	// Encode ends in a newline, which does not count.
	if line.Len()-1 > maxLine {
		return errTooLong
	}
	_, err := out.Write(line.Bytes())
	return err
}

func serve(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReaderSize(stdin, maxLine+1)

	hello, err := readMessage(in, "handshake")
	if err != nil {
		return err
	}
	if version, _ := asString(hello["protocol_version"]); version != protocol {
		return errors.New("the host does not speak " + protocol)
	}
	err = send(stdout, handshake{"handshake", manifest{
		"greeter-go", "1.0.0", protocol, []string{"greet", "add"},
	}})
	if err != nil {
		return err
	}

	request, err := readMessage(in, "request")
	if err != nil {
		return err
	}
	id, idOK := asString(request["request_id"])
	tool, toolOK := asString(request["tool_name"])
	if !idOK || !toolOK {
		return errors.New("request_id and tool_name must be strings")
	}
	reply := response{Type: "response", RequestID: id, Status: "ok"}
	reply.Output, reply.Error = call(tool, request["input"])
	if reply.Error != nil {
		reply.Status = "error"
	}
	err = send(stdout, reply)
	if errors.Is(err, errTooLong) {
		reply.Status, reply.Output = "error", nil
		reply.Error = &toolError{"output_too_large", "the response is longer than a line may be"}
		err = send(stdout, reply)
	}
	waitUntilRead(in)
	return err
}

// A host closes our input once it has read the answer. Some stop reading as
// soon as we are gone, and would lose an answer that is still in the pipe.
func waitUntilRead(in io.ByteReader) {
	closed := make(chan struct{})
	go func() {
		in.ReadByte()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(readWait):
	}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("greeter-go: ")
	// A host that went away is then an error of Write and not a death by signal.
	signal.Ignore(syscall.SIGPIPE)
	if err := serve(os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		log.Fatal(err)
	}
}
