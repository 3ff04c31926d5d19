"""Calls to a gRPC service that stays, over a Unix socket: bytes there and back, no message classes.

python -m bench.peers.grpc_echo PLACE
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import grpc  # type: ignore[import-not-found,import-untyped,unused-ignore]  # it is in the peers' environment

from .. import echo, latency, pinning
from ..loop import serve

SERVER = str(Path(__file__).with_name("grpc_echo_server.py"))
CALLS = 300


def main() -> None:
    pinning.settle()
    pipe = subprocess.PIPE
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/socket"
        with subprocess.Popen([sys.executable, SERVER, path], stdin=pipe, stdout=pipe) as process:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise EOFError("the server did not start")
            with grpc.insecure_channel(f"unix:{path}") as channel:
                call = partial(channel.unary_unary("/bench.Echo/Echo"), echo.PAYLOAD)
                serve({"call": partial(latency.measure, call, echo.check, CALLS)})


if __name__ == "__main__":
    main()
