"""What the author is told: turns what went wrong into lines on standard error. Raises nothing."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write a line to standard error, if there is one. Not to what a command's output is collected in."""
    try:
        sys.__stderr__.write(f"{text}\n")  # type: ignore[union-attr]  # AttributeError, if it is None
    except (OSError, ValueError, AttributeError):
        pass  # closed, or replaced by something of the plugin's: there is nobody to tell


def show_traceback() -> None:
    """Print the exception that is being handled to standard error, if there is one and it can be printed."""
    import traceback

    try:
        say(traceback.format_exc().rstrip())
    except Exception:  # what the exception refers to cannot be shown: that must not cost the answer
        say("plughost-sdk: a handler failed, and its traceback cannot be shown")


def words(error: Exception) -> str:
    """Return what *error* says, or its name."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return "(it cannot be shown)"
