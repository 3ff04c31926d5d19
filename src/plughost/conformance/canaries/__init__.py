"""Plugins that misbehave on purpose, in raw bytes and without the SDK: each shows that an axis can fail."""
