"""Woodpecker workflows from the schema that a `hook` host sends."""
