"""The `execute` contract: a handshake, one request, one response, and the process ends. See SPEC.md."""
