"""The `envelope` contract: one JSON line each way and an exit code, in a worker that transforms files and ends."""
