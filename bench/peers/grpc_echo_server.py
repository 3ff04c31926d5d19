"""A gRPC service with one method that echoes bytes, on a Unix socket; a line on stdout says that it is there.

python grpc_echo_server.py PATH
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc  # type: ignore[import-not-found,import-untyped,unused-ignore]  # it is in the peers' environment

echo = grpc.unary_unary_rpc_method_handler(lambda payload, _context: payload)
server = grpc.server(ThreadPoolExecutor(max_workers=4))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", {"Echo": echo}),))
server.add_insecure_port(f"unix:{sys.argv[1]}")
server.start()
print("ready", flush=True)
sys.stdin.read()  # until its parent has gone
server.stop(None)
