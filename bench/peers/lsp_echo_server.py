"""A JSON-RPC server with one method that echoes, by python-lsp-jsonrpc, over stdio."""

import sys

from pylsp_jsonrpc.endpoint import Endpoint  # type: ignore[import-not-found]  # it is in the peers' environment
from pylsp_jsonrpc.streams import (  # type: ignore[import-not-found]  # for the same reason
    JsonRpcStreamReader,
    JsonRpcStreamWriter,
)

writer = JsonRpcStreamWriter(sys.stdout.buffer)
endpoint = Endpoint({"echo": lambda params: params}, writer.write)
JsonRpcStreamReader(sys.stdin.buffer).listen(endpoint.consume)
