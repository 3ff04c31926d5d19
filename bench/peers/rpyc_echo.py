"""Calls to an rpyc service that stays, over stdio.

python -m bench.peers.rpyc_echo PLACE
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import rpyc  # type: ignore[import-not-found]  # it is in the peers' environment

from .. import echo, latency, pinning
from ..loop import serve

SERVER = str(Path(__file__).with_name("rpyc_echo_server.py"))
CALLS = 500


def main() -> None:
    pinning.settle()
    connection = rpyc.connect_subproc([sys.executable, SERVER])
    remote = connection.root.echo  # looked up once: each time would be a call of its own
    serve({"call": partial(latency.measure, partial(remote, echo.PAYLOAD), echo.check, CALLS)})
    connection.close()
    connection.proc.kill()
    connection.proc.wait()


if __name__ == "__main__":
    main()
