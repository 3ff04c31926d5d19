# ruff: noqa: N999 - the directory has the plugin's name
"""Puts a header on top of text files."""

from .plugin import HeaderStamper as Plugin

__all__ = ["Plugin"]
