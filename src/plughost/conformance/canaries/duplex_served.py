"""What the `duplex` canary does when it is told or asked something: keys, events, screens, commands, actions."""

import base64
import json
import random
import sys
import time

from duplex_calls import Caller
from duplex_wire import b64, wait_for_ever, write

NAME = "canary"


class Server(Caller):
    """The half of the canary that serves the host."""

    def __init__(self, fault):
        super().__init__(fault)
        self.keys = []
        self.feed = []  # chunks of a publish, as far as they came
        self.state = "waiting"
        self.renders = 0
        self.crashed = 0  # processes before this one that did not end well

    # What it is told

    def key(self, params):
        if self.fault == "dies-of-a-key":
            sys.exit("a key?")
        name = params["key"]["code"]["type"]
        if self.fault == "only-the-last-of-a-burst" and self.wire.waiting:
            return
        if self.fault == "sorts-keys-that-come-together":
            self.wire.drain()
            burst = [each for each in self.wire.waiting if each["method"] == "plugin/handle_key"]
            names = sorted([name, *(each["params"]["key"]["code"]["type"] for each in burst)])
            for each in burst:
                self.wire.waiting.remove(each)
            self.keys += names
            return
        self.keys.append(name)

    def event(self, params):
        if not isinstance(params["topic"], str):
            raise ValueError("topic")
        payload = base64.b64decode(params["payload"])
        self.ask_host("host/snapshot/get", {"topic": "canary.feed"})
        if payload.startswith(b"plughost-"):
            self.publish_bytes(payload, "canary.heard")
            return
        try:
            chunk = json.loads(payload)
            version, index, batch = chunk["version"], chunk["chunk_index"], chunk["published_ns"]
        except (ValueError, KeyError, TypeError):
            if self.fault == "dies-of-garbage":
                sys.exit("what is this?")
            return
        if version != 1:
            if self.fault == "dies-of-another-version":
                sys.exit("version %d" % version)
            if self.fault == "refuses-to-render-another-version":
                self.state = "broken"
                return
            self.state = "mismatch"
            return
        self.take_chunk(batch, index, chunk["is_final"])

    def take_chunk(self, batch, index, is_final):
        if index and not self.feed and self.fault == "dies-of-an-orphan":
            sys.exit("a chunk without a beginning")
        if self.feed and index > len(self.feed) and self.fault == "dies-of-a-gap":
            sys.exit("a chunk is missing")
        if index == 0 and self.feed and self.fault == "dies-of-a-new-beginning":
            sys.exit("the last publish is not over")
        if index == 0:
            self.feed = []
        elif not self.feed or self.feed[0] != batch or index != len(self.feed):
            return
        self.feed.append(batch)
        self.state = "complete" if is_final else "partial"
        if is_final:
            self.feed = []

    # What it is asked

    def render(self, params):
        width, height = (params["viewport"][side] for side in ("width", "height"))
        if not all(type(size) is int and 0 <= size <= 65_535 for size in (width, height)):
            raise ValueError("viewport")
        if self.state == "broken" or (self.crashed and self.fault == "broken-screen-after-a-crash"):
            raise ValueError("another version")
        self.renders += 1
        text = "%s %s" % (self.state, ",".join(self.keys))
        if self.fault == "clock-in-the-corner":
            text = str(time.time_ns())[::-1]
        if self.fault == "counts-its-renders":
            text = "%d" % self.renders
        cells = [[{"x": x, "y": 0}, {"symbol": symbol, "modifier": 0}] for x, symbol in enumerate(text)]
        cells = [cell for cell in cells if cell[0]["x"] < width and height]
        if self.fault == "shuffles-its-cells":
            random.shuffle(cells)
        if self.fault == "cell-outside" and height:
            cells.append([{"x": 0, "y": height}, {"symbol": "!", "modifier": 0}])
        if self.fault == "cells-are-objects":
            cells = [{"x": 0, "y": 0, "symbol": "x"}]
        if self.fault == "always-80-by-24":
            width, height = 80, 24
        if self.fault == "nothing-is-80-by-24" and not width:
            width, height = 80, 24
        if self.fault == "wider-than-asked":
            width += 1
        if self.fault == "never-renders":
            wait_for_ever()
        return {"buffer": {"width": width, "height": height, "cells": cells}}

    def cli(self, params):
        namespace, argv = params["namespace"], params["argv"]
        if not isinstance(namespace, str) or not isinstance(argv, list):
            raise ValueError("argv")
        if namespace != NAME:
            if self.fault == "dies-of-another-namespace":
                sys.exit("not mine")
            code = 0 if self.fault == "any-namespace-succeeds" else 2
            return {"stdout": "", "stderr": b64(b"no such namespace\n"), "exit_code": code}
        if self.fault == "prints-its-help":
            write(b"usage: canary\n")
        if self.fault == "never-runs-commands":
            wait_for_ever()
        result = {"stdout": b64(b"usage: canary\n\xff"), "stderr": "", "exit_code": 0}
        changed = {
            "no-exit-code": {"exit_code": None},
            "exit-code-is-a-text": {"exit_code": "0"},
            "exit-code-is-a-flag": {"exit_code": True},
            "no-stderr": {"stderr": None},
            "plain-output": {"stdout": "usage: canary\n"},
            "unpadded-output": {"stdout": b64(b"usage: canary\n\xff\xff").rstrip("=")},
        }.get(self.fault, {})
        return {key: value for key, value in {**result, **changed}.items() if value is not None}

    def action(self, params):
        name, payload = params["action"], params["payload"]
        if not isinstance(name, str) or not isinstance(payload, str):
            raise ValueError("payload")
        if name == "canary.relay":
            self.ask_host("host/action/invoke", {"action": "other.work", "payload": "", "timeout_ms": 10})
        elif name != "canary.echo" and self.fault != "does-any-action":
            raise NotImplementedError("no such action")
        if self.fault == "never-acts":
            wait_for_ever()
        if self.fault == "acts-without-a-word":
            return None
        if self.fault == "dies-in-an-action":
            sys.exit("done")
        if self.fault == "action-payload-is-text":
            return {"payload": "done!"}
        if self.fault == "action-without-a-payload":
            return {"done": True}
        return {"payload": payload}
