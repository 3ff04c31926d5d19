package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// object is a map and not a struct: encoding/json matches the fields of a
// struct without regard to case, so an unknown member "Topic" would overwrite
// "topic".
type object map[string]json.RawMessage

func parseObject(raw json.RawMessage) (object, error) {
	var members object
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, errors.New("this is no object")
	}
	return members, nil
}

// parseParams is parseObject for a call's params.
func parseParams(raw json.RawMessage) (object, error) {
	members, err := parseObject(raw)
	if err != nil {
		return nil, errors.New("params is not an object")
	}
	return members, nil
}

// required returns the member name, which must be there and of its type. It
// goes through a pointer because Unmarshal leaves a plain value untouched, and
// reports no error, for null. Integers are in the range of T and have no
// fraction, which Unmarshal sees to.
func required[T any](members object, name string) (T, error) {
	var value *T
	raw, ok := members[name]
	if !ok {
		return *new(T), fmt.Errorf("%s is missing", name)
	}
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return *new(T), fmt.Errorf("%s is not what it has to be", name)
	}
	return *value, nil
}

// optional is required for a member that may be left out.
func optional[T any](members object, name string, usual T) (T, error) {
	if _, ok := members[name]; !ok {
		return usual, nil
	}
	return required[T](members, name)
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// words is a list of strings. Through pointers, as in required.
type words []string

func (w *words) UnmarshalJSON(raw []byte) error {
	var listed []*string
	if err := json.Unmarshal(raw, &listed); err != nil {
		return err
	}
	*w = words{}
	for _, each := range listed {
		if each == nil {
			return errors.New("a null is no string")
		}
		*w = append(*w, *each)
	}
	return nil
}

// blob is bytes: written as base64, and read as base64 or, from older hosts, as
// a list of numbers.
type blob []byte

func (b blob) MarshalJSON() ([]byte, error) {
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

func (b *blob) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		// The decoder skips line ends, which the contract does not have.
		if strings.ContainsAny(text, "\r\n") {
			return errors.New("base64 in several lines")
		}
		data, err := base64.StdEncoding.Strict().DecodeString(text)
		*b = data
		return err
	}
	var numbers []*uint8
	if err := json.Unmarshal(raw, &numbers); err != nil {
		return err
	}
	*b = make([]byte, 0, len(numbers))
	for _, each := range numbers {
		if each == nil {
			return errors.New("a null is no byte")
		}
		*b = append(*b, *each)
	}
	return nil
}
