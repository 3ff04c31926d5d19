"""The `sideband` contract: a REPL worker with JSON lines on two pipes beside its raw output. See SPEC.md."""
