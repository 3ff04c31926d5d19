"""An execnet gateway that stays, with one channel that echoes.

python -m bench.peers.execnet_echo PLACE
"""

from __future__ import annotations

import sys
from functools import partial

import execnet

from .. import echo, latency, pinning, window
from ..loop import serve

SEND_BACK = "for payload in channel: channel.send(payload)"
CALLS = 500
PIPELINED = 3200
LEAVE_S = 5.0


def call(channel: execnet.gateway_base.Channel) -> object:
    """Ask, and return the answer."""
    channel.send(echo.PAYLOAD)
    return channel.receive()


def main() -> None:
    pinning.settle()
    group = execnet.Group()
    channel = group.makegateway(f"popen//python={sys.executable}").remote_exec(SEND_BACK)
    serve(
        {
            "call": partial(latency.measure, partial(call, channel), echo.check, CALLS),
            "pipelined": partial(window.measure, channel.send, channel.receive, echo.PAYLOAD, PIPELINED),
        }
    )
    group.terminate(LEAVE_S)


if __name__ == "__main__":
    main()
