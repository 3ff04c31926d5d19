"""Calls to a server that stays, both ends by python-lsp-jsonrpc: Content-Length and JSON-RPC, as here.

python -m bench.peers.lsp_echo PLACE
"""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

from pylsp_jsonrpc.endpoint import Endpoint  # type: ignore[import-not-found]  # it is in the peers' environment
from pylsp_jsonrpc.streams import (  # type: ignore[import-not-found]  # for the same reason
    JsonRpcStreamReader,
    JsonRpcStreamWriter,
)

from .. import echo, latency, pinning
from ..loop import serve

SERVER = str(Path(__file__).with_name("lsp_echo_server.py"))
CALLS = 500


def call(endpoint: Endpoint) -> object:
    """Ask, and return the answer."""
    return endpoint.request("echo", {"payload": echo.TEXT}).result()["payload"]


def main() -> None:
    pinning.settle()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, SERVER], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        endpoint = Endpoint({}, JsonRpcStreamWriter(process.stdin).write)
        reader = JsonRpcStreamReader(process.stdout)
        threading.Thread(target=reader.listen, args=(endpoint.consume,), daemon=True).start()
        serve({"call": partial(latency.measure, partial(call, endpoint), echo.check, CALLS)})
        process.kill()  # it does not end with its input


if __name__ == "__main__":
    main()
