"""The `duplex` contract: long-lived plugins that are called and call back, in JSON-RPC. See SPEC.md."""
