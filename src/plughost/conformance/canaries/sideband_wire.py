"""The pipes of the `sideband` canary: raw bytes, no SDK. It waits where the host may say anything, and nowhere else."""

import json
import os
import select
import sys

READ, WRITE = "MCP_CONSOLE_IPC_READ_FD", "MCP_CONSOLE_IPC_WRITE_FD"
LINE_BYTES = 33_554_432


class Wire:
    """Messages both ways, and stdin, which is read only for what was announced."""

    def __init__(self, fault):
        self.fault = fault
        if READ not in os.environ and fault != "starts-without-descriptors":
            if fault != "silent-without-descriptors":
                sys.stderr.write("there is no %s: a host has to start this\n" % READ)
            sys.exit(0 if fault == "exits-0-without-descriptors" else 2)
        if READ not in os.environ:
            select.select([], [], [])
        self.control, self.told = int(os.environ[READ]), int(os.environ[WRITE])
        if fault != "leaves-the-variables":
            del os.environ[READ], os.environ[WRITE]
        for fd in (self.control, self.told):
            os.set_inheritable(fd, fault == "leaks-to-children")
        self.stdin = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        if fault != "shares-its-input":
            os.dup2(nothing, 0)
        os.close(nothing)
        self.held = bytearray()

    def send(self, kind, **members):
        self.write(json.dumps({"type": kind, **members}).encode() + b"\n")

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.told, view) :]

    def hear(self, seconds=None):
        """Return the next message, None if none came in time. What is no message is passed over."""
        while True:
            while b"\n" in self.held:
                line, _, rest = bytes(self.held).partition(b"\n")
                self.held = bytearray(rest)
                message = self.decode(line)
                if message is not None:
                    return message
            if not select.select([self.control], [], [], seconds)[0]:
                return None
            data = os.read(self.control, 65_536)
            if not data:
                if self.fault == "ignores-the-end-of-the-sideband":
                    select.select([], [], [])
                sys.exit(0)
            self.held += data

    def decode(self, line):
        if self.fault == "dies-of-a-long-line" and len(line) > 100_000 and b"plughost_future" in line[:40]:
            sys.exit("what a long line")
        try:
            message = json.loads(line.decode())
        except (ValueError, RecursionError):
            if self.fault == "dies-of-no-json" and line.strip():
                sys.exit("that is no JSON")
            if self.fault == "dies-of-bytes-that-are-no-text" and b"\xff" in line:
                sys.exit("that is no UTF-8")
            return None
        if not isinstance(message, dict):
            if self.fault == "dies-of-no-object":
                sys.exit("that is no object")
            return None
        if self.fault == "dies-of-an-unknown-message" and message.get("type") == "plughost_future":
            sys.exit("what is that?")
        if self.fault == "dies-of-an-unknown-member" and "plughost_future" in message:
            sys.exit("what is that?")
        number = message.get("request_id", 1)
        if isinstance(number, bool) or not isinstance(number, int):
            return None
        if message.get("type") == "stdin_write" and not isinstance(message.get("text"), str):
            if self.fault == "dies-of-a-wrong-member":
                sys.exit("there is no text")
            return None
        return message

    def take(self, text):
        """Return what was announced, from stdin."""
        size = len(text) if self.fault == "counts-characters" else len(text.encode())
        if self.fault == "small-requests-only" and size > 65_536:
            select.select([], [], [])
        got = bytearray()
        while len(got) < size:
            data = os.read(self.stdin, min(size - len(got), 65_536))
            if not data:
                sys.exit(0)
            got += data
            if self.fault == "takes-what-is-there" and size < 1_000:
                break
        return got.decode("utf-8", "replace")
