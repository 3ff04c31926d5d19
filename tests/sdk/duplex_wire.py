"""A host for tests of the `duplex` SDK, written with json and nothing of the SDK: over files, or over pipes.

Over files the whole conversation is written beforehand. That works for calls in both directions, because a plugin
counts its ids from 1 and reads a response only when it waits for one.
"""

import contextlib
import json
import os
import tempfile
import threading

INIT_PARAMS = {
    "manifest_path": "/dev/null/manifest.toml",
    "granted_capabilities": ["event_bus"],
    "abi_version": 2,
}


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def request(id, method, params=None):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {} if params is None else params}


def notification(method, params=None):
    return {"jsonrpc": "2.0", "method": method, "params": {} if params is None else params}


def result(id, value):
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id, code, message="no", **more):
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def init(id=1, **more):
    return request(id, "plugin/init", {**INIT_PARAMS, **more})


def event(topic="t", payload="", **more):
    return notification("plugin/handle_event", {"topic": topic, "payload": payload, **more})


def key(code=None, **more):
    event = {"code": {"type": "esc"} if code is None else code, **more}
    return notification("plugin/handle_key", {"screen_id": "main", "key": event, "generation": 0})


def cli(id=1, namespace="usage", argv=()):
    return request(id, "plugin/cli_dispatch", {"namespace": namespace, "argv": list(argv)})


def render(id=1, width=4, height=2):
    return request(id, "plugin/render", {"viewport": {"width": width, "height": height}})


def action(id=1, name="act", payload=""):
    return request(id, "host/action/invoke", {"action": name, "payload": payload})


def unframe(wire):
    """Return the messages in *wire*, which must be whole and of the plainest spelling."""
    found = []
    while wire:
        head, _, rest = wire.partition(b"\r\n\r\n")
        assert head.startswith(b"Content-Length: ")
        size = int(head[16:])
        assert len(rest) >= size
        found.append(json.loads(rest[:size]))
        wire = rest[size:]
    return found


def serve(plugin, *messages):
    """Run *plugin* over the messages, or bytes as they are, then the end. Return its status and what it said."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as taken:
        for each in messages:
            given.write(each if isinstance(each, bytes) else frame(each))
        given.seek(0)
        status = plugin.serve(os.dup(given.fileno()), os.dup(taken.fileno()))
        taken.seek(0)
        return status, unframe(taken.read())


class Pipes:
    """The host's ends of two pipes, with a plugin at the others, in a thread of its own."""

    def __init__(self, plugin):
        theirs, self.write = os.pipe()
        self.read, ours = os.pipe()
        self._rest = b""
        self.status = None

        def run():
            self.status = plugin.serve(theirs, ours)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def send(self, *messages):
        for each in messages:
            self.send_bytes(frame(each))

    def send_bytes(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.write, view) :]

    def receive(self):
        """Return the next message, or None at the end."""
        while True:
            head, blank, rest = self._rest.partition(b"\r\n\r\n")
            if blank and len(rest) >= (size := int(head[16:])):
                self._rest = rest[size:]
                return json.loads(rest[:size])
            data = os.read(self.read, 1 << 20)
            if not data:
                assert not self._rest
                return None
            self._rest += data

    def peek(self):
        """Wait until the plugin has begun to write."""
        self._rest += os.read(self.read, 1)

    def end(self):
        """Hang up, wait for the plugin to end, and return its status."""
        if self.read >= 0:
            os.close(self.write)
            while self.receive() is not None:
                pass
            self._thread.join(timeout=250)
            os.close(self.read)
            self.read = -1
        return self.status


@contextlib.contextmanager
def connected(plugin):
    host = Pipes(plugin)
    try:
        yield host
    finally:
        host.end()
