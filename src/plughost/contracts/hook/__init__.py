"""The `hook` contract: providers that generate files, in length-prefixed protobuf. See SPEC.md."""
