"""Frames and JSON-RPC by hand, for the `duplex` canary: raw bytes, no SDK. Knows no method."""

import base64
import json
import os
import sys
from collections import deque

NOT_FOUND, INVALID, INTERNAL = -32601, -32602, -32603


class Wire:
    """Reads messages, and calls the host from within the handling of one. *fault* decides what goes wrong."""

    def __init__(self, fault):
        self.fault = fault
        self.waiting = deque()
        self.buffer = b""
        self.calls = 0
        self.sent = 0

    # What comes in

    def next(self):
        """Return the next request or notification, or None at the end."""
        while not self.waiting:
            message = self.read()
            if message is None:
                return None
            if "method" in message:
                self.waiting.append(message)
        if self.fault == "takes-the-latest-first":
            self.drain()
            return self.latest_first()
        return self.waiting.popleft()

    def drain(self):
        """Take what is there already, without waiting."""
        import select

        while b"\r\n\r\n" in self.buffer or select.select([0], [], [], 0.005)[0]:
            message = self.read()
            if message is None:
                return
            if "method" in message:
                self.waiting.append(message)

    def latest_first(self):
        at = 0
        while at + 1 < len(self.waiting) and "id" not in self.waiting[at + 1]:
            at += 1
        message = self.waiting[at]
        del self.waiting[at]
        return message

    def read(self):
        head = self.take_header()
        if head is None:
            return None
        length = int(head.split(b":")[1])
        if self.fault == "one-megabyte-only" and length > 1_048_576:
            sys.exit("a body of over a megabyte")
        if self.fault == "drops-long-bodies" and length > 8_388_608:
            self.take(length)
            return self.read()
        body = self.take(length)
        return None if body is None else json.loads(body)

    def take_header(self):
        if self.fault == "reads-its-header-at-once":
            self.buffer = self.buffer or os.read(0, 65_536)
            if self.buffer and b"\r\n\r\n" not in self.buffer:
                sys.exit("half a header")
        while b"\r\n\r\n" not in self.buffer:
            data = os.read(0, 65_536)
            if not data:
                return None
            self.buffer += data
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        return head

    def take(self, size):
        if self.fault == "small-inbox" and self.buffer.count(b"no-such-method") > 15:
            body, self.buffer = self.buffer[:size], b""
            return body
        if len(self.buffer) < size:
            parts, missing = [self.buffer], size - len(self.buffer)
            while missing:
                data = os.read(0, missing)
                if not data:
                    return None
                parts.append(data)
                missing -= len(data)
            self.buffer = b"".join(parts)
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return body

    # What goes out

    def request(self, method, params):
        """Call the host and return what it answers. Raises ConnectionRefusedError."""
        self.calls += 1
        mine = {"ids-are-texts": "c%d" % self.calls, "ids-are-negative": -self.calls}.get(
            self.fault, self.calls
        )
        self.send({"id": mine, "method": method, "params": params})
        while True:
            message = self.read()
            if message is None:
                sys.exit(0)
            if "method" not in message and message["id"] == mine:
                break
            if self.fault == "takes-the-next-frame-for-the-answer":
                sys.exit("this is not the answer to my call")
            if self.fault == "stops-reading-while-it-waits" and "filling" in (message.get("params") or {}):
                wait_for_ever()
            if "method" in message:
                self.waiting.append(message)
        if "error" in message:
            raise ConnectionRefusedError(message["error"]["code"])
        return message["result"]

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def answer(self, mine, result):
        self.send({"id": mine, "result": result, **({"error": None} if self.fault == "error-null" else {})})

    def refuse(self, mine, code, message):
        self.send({"id": mine, "error": {"code": code, "message": message}})

    def send(self, message):
        self.sent += 1
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        for each in self.bent(message, body):
            write(each)

    def bent(self, message, body):
        """Yield what is written for a message, which is not always a frame."""
        fault, is_answer = self.fault, "method" not in message
        if fault == "no-version":
            body = json.dumps(message).encode()
        if fault == "version-1" and is_answer:
            body = body.replace(b'"2.0"', b'"1.0"', 1)
        if fault == "batches" and is_answer:
            body = b"[%b]" % body
        if fault == "echoes-ids-as-texts" and is_answer:
            body = json.dumps({"jsonrpc": "2.0", **message, "id": str(message["id"])}).encode()
        if fault == "answers-nobody" and is_answer:
            body = json.dumps({"jsonrpc": "2.0", **message, "id": message["id"] + 1000}).encode()
        if fault == "result-beside-error" and "error" in message:
            body = json.dumps({"jsonrpc": "2.0", **message, "result": None}).encode()
        length = len(body)
        if fault == "length-short-by-one":
            length -= 1
        if fault == "length-long-by-one":
            length += 1
        head = b"Content-Length: %d\r\n\r\n" % length
        if fault == "line-feeds-only":
            head = head.replace(b"\r\n", b"\n")
        if fault == "another-header":
            head = b"Content-Type: application/json\r\n" + head
        if fault == "plus-sign":
            head = head.replace(b": ", b": +")
        if fault == "length-twice":
            head = head[:-2] + head
        if fault == "no-header":
            head = b""
        if fault == "promises-too-much" and self.sent > 3:
            head = b"Content-Length: 16777217\r\n\r\n"
        if fault == "prints-before-an-answer" and is_answer:
            yield b"answering\n"
        yield head + body
        if fault == "replies-twice" and is_answer:
            yield head + body
        if fault == "prints-after-an-answer" and is_answer:
            yield b"\n"


def write(data):
    while data:
        data = data[os.write(1, data) :]


def b64(data, fault=""):
    text = base64.b64encode(data).decode()
    if fault == "unpadded":
        return text.rstrip("=")
    if fault == "url-alphabet":
        return base64.urlsafe_b64encode(data).decode()
    if fault == "array":
        return list(data)
    if fault == "wrapped":
        return text + "\n"
    return text


def wait_for_ever():
    while True:
        import time

        time.sleep(60)
