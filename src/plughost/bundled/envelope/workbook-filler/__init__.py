# ruff: noqa: N999 - the directory has the plugin's name
"""Fills placeholders and labelled cells of Excel workbooks."""

from .plugin import WorkbookFiller as Plugin

__all__ = ["Plugin"]
