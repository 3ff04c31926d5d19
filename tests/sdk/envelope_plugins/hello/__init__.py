"""A greeting at the end of each text file."""

from .plugin import Hello as Plugin

__all__ = ["Plugin"]
