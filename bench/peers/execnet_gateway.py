"""An execnet gateway per call: a fresh interpreter, one `remote_exec`, and the gateway is ended."""

from __future__ import annotations

import sys

import execnet

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks, Stopwatch

GREET = "channel.send({'text': 'Hello ' + channel.receive()['name']})"
LEAVE_S = 5.0


def call() -> Marks:
    """Start, ask, answer, end."""
    watch = Stopwatch()
    group = execnet.Group()
    gateway = group.makegateway(f"popen//python={sys.executable}")
    watch.mark("handshake")
    channel = gateway.remote_exec(GREET)
    channel.send(greeting.INPUT)
    output = channel.receive()
    watch.mark("result")
    group.terminate(LEAVE_S)
    watch.mark("gone")
    greeting.check(output)
    return watch.marks


if __name__ == "__main__":
    serve({"call": call})
