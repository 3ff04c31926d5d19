package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	maxHeader = 8192     // bytes of a whole header block, its blank line included
	maxBody   = 16777216 // bytes; equal is allowed
)

var (
	errTooLarge  = fmt.Errorf("a body is longer than %d bytes", maxBody)
	errNoHeader  = errors.New("this is no header block of one Content-Length")
	errTruncated = errors.New("the input ended inside a frame")
)

// readFrame returns the next body, and io.EOF only where the input ends
// between two frames. A length over the limit is refused before memory is
// taken for it. The buffer of in holds maxHeader bytes, so that a longer line
// is one it cannot hold.
func readFrame(in *bufio.Reader) ([]byte, error) {
	size, header := -1, 0
	for {
		line, err := in.ReadSlice('\n')
		header += len(line)
		switch {
		case errors.Is(err, io.EOF) && header == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, errTruncated
		case errors.Is(err, bufio.ErrBufferFull) || header > maxHeader:
			return nil, errNoHeader
		case err != nil:
			return nil, err
		}
		if string(line) == "\r\n" {
			break
		}
		if size >= 0 { // a second header
			return nil, errNoHeader
		}
		if size, err = contentLength(line); err != nil {
			return nil, err
		}
	}
	if size < 0 {
		return nil, errNoHeader
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errTruncated
		}
		return nil, err
	}
	return body, nil
}

func contentLength(line []byte) (int, error) {
	line, hasCRLF := trimSuffix(line, "\r\n")
	colon := bytes.IndexByte(line, ':')
	if !hasCRLF || colon < 0 || !bytes.EqualFold(line[:colon], []byte("Content-Length")) {
		return 0, errNoHeader
	}
	// Atoi would take "+5".
	size, err := strconv.ParseUint(string(bytes.Trim(line[colon+1:], " \t")), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && size > maxBody:
		return 0, errTooLarge
	case err != nil:
		return 0, errNoHeader
	}
	return int(size), nil
}

func trimSuffix(line []byte, suffix string) ([]byte, bool) {
	return bytes.TrimSuffix(line, []byte(suffix)), bytes.HasSuffix(line, []byte(suffix))
}

// writeFrame hands header and body over in one write, since others may be
// waiting to write the next frame.
func writeFrame(out io.Writer, body []byte) error {
	if len(body) > maxBody {
		return errTooLarge
	}
	frame := make([]byte, 0, len(body)+32)
	frame = append(frame, "Content-Length: "...)
	frame = strconv.AppendInt(frame, int64(len(body)), 10)
	frame = append(frame, "\r\n\r\n"...)
	_, err := out.Write(append(frame, body...))
	return err
}
