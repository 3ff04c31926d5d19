package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	methodNotFound     = -32601
	invalidParams      = -32602
	internalError      = -32603
	manifestValidation = -32003
)

var errGone = errors.New("the host has hung up")

// rpcError is an error that one side answers the other with.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// call is a request of the host, or a notification if it has no id.
type call struct {
	id     json.RawMessage // as it came: it is only ever sent back
	method string
	params json.RawMessage
}

// outgoing is any message of ours. Result and Error are never both set.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// method is how the plugin serves one. A notification of a request's method,
// and a request for a notification's, are calls of a method it does not have.
// The last method is served either way, because some hosts only notify; serve
// returns after it.
type method struct {
	isNotification bool
	isLast         bool
	serve          func(params json.RawMessage) (any, error)
}

// conn speaks both directions over one pair of streams.
//
// One goroutine reads. It resolves answers to our own calls at once and queues
// the host's, which serve handles one by one, in order. So a handler may wait
// for the host, whatever comes before its answer. Anyone may write.
type conn struct {
	out     io.Writer
	writing sync.Mutex

	mu      sync.Mutex // guards what follows
	lastID  uint64
	pending map[uint64]chan object // each with room for one answer
	lost    error                  // why nothing can be written any more

	gone    chan struct{} // closed when the input has ended
	ignored uint64        // frames; the reader's alone
}

func newConn(out io.Writer) *conn {
	return &conn{out: out, pending: map[uint64]chan object{}, gone: make(chan struct{})}
}

// serve handles the host's calls until the last one, or until the input ends
// and those left are handled.
func (c *conn) serve(in io.Reader, methods map[string]method) error {
	calls, ended := newQueue(), make(chan error, 1)
	go func() {
		ended <- c.read(bufio.NewReaderSize(in, maxHeader), calls)
		close(c.gone)
		calls.close()
	}()
	for {
		next, ok := calls.pop()
		if !ok {
			return <-ended
		}
		c.handle(next, methods)
		if err := c.whyLost(); err != nil {
			return err
		}
		if methods[next.method].isLast {
			return nil
		}
	}
}

func (c *conn) read(in *bufio.Reader, calls *queue) error {
	for {
		body, err := readFrame(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		message, err := parseObject(body)
		if version, _ := required[string](message, "jsonrpc"); err != nil || version != "2.0" || !utf8.Valid(body) {
			c.ignore("it is no message of JSON-RPC 2.0")
			continue
		}
		if _, isCall := message["method"]; !isCall {
			c.resolve(message)
			continue
		}
		name, err := required[string](message, "method")
		id, hasID := message["id"]
		if err != nil || hasID && !isID(id) {
			c.ignore("its method or its id is none")
			continue
		}
		calls.push(call{id, name, message["params"]})
	}
}

// isID tells numbers and strings from everything else that JSON has.
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
}

// ignore says so less and less often: who sends one such frame may send a
// million.
func (c *conn) ignore(why string) {
	c.ignored++
	if c.ignored&(c.ignored-1) == 0 {
		log.Printf("frame ignored: %s (%d so far)", why, c.ignored)
	}
}

func (c *conn) handle(asked call, methods map[string]method) {
	served, ok := methods[asked.method]
	isNotification := asked.id == nil
	if !ok || !served.isLast && served.isNotification != isNotification {
		if !isNotification {
			c.answer(asked.id, nil, &rpcError{methodNotFound, "method not found: " + asked.method})
		}
		return
	}
	result, err := served.serve(asked.params)
	if !isNotification {
		c.answer(asked.id, result, err)
	} else if err != nil {
		log.Printf("%s: %v", asked.method, err)
	}
}

// answer sends a result, or an error: those that say no code are about params.
func (c *conn) answer(id json.RawMessage, result any, err error) {
	reply := outgoing{ID: id, Result: result}
	if err != nil {
		refusal := &rpcError{invalidParams, err.Error()}
		errors.As(err, &refusal)
		reply.Result, reply.Error = nil, refusal
	}
	if err := c.send(reply); errors.Is(err, errTooLarge) {
		_ = c.send(outgoing{ID: id, Error: &rpcError{internalError, err.Error()}})
	}
}

// call asks the host and returns what it answers. That it refuses is an
// *rpcError.
func (c *conn) call(ctx context.Context, method string, params any) (object, error) {
	answer := make(chan object, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id) // an answer that comes later is ignored
		c.mu.Unlock()
	}()

	raw := json.RawMessage(strconv.FormatUint(id, 10))
	if err := c.send(outgoing{ID: raw, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case response := <-answer:
		return resultOf(response)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.gone:
		select { // it may have come just before the end
		case response := <-answer:
			return resultOf(response)
		default:
			return nil, errGone
		}
	}
}

func (c *conn) notify(method string, params any) error {
	return c.send(outgoing{Method: method, Params: params})
}

func (c *conn) resolve(response object) {
	id, err := required[uint64](response, "id")
	c.mu.Lock()
	answer, ok := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if err != nil || !ok {
		c.ignore("nobody waits for this answer")
		return
	}
	answer <- response
}

func resultOf(response object) (object, error) {
	if raw, ok := response["error"]; ok && !isNull(raw) {
		fault, err := parseObject(raw)
		if err != nil {
			return nil, errors.New("the host's error is none")
		}
		code, err := required[int](fault, "code")
		message, err2 := required[string](fault, "message")
		if err != nil || err2 != nil {
			return nil, errors.New("the host's error is none")
		}
		return nil, &rpcError{code, message}
	}
	result, err := parseObject(response["result"])
	if err != nil {
		return nil, errors.New("the host's result is no object")
	}
	return result, nil
}

// send writes a message. An error of the stream is kept, and ends serve.
func (c *conn) send(message outgoing) error {
	message.Version = "2.0"
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	err := writeFrame(c.out, bytes.TrimSuffix(body.Bytes(), []byte("\n")))
	if err != nil && !errors.Is(err, errTooLarge) {
		c.mu.Lock()
		c.lost = err
		c.mu.Unlock()
	}
	return err
}

func (c *conn) whyLost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}
