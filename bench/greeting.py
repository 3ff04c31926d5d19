"""The work that every contender does, so that nobody is measured on less: greet Ada, and prove it."""

from __future__ import annotations

from typing import Any

INPUT = {"name": "Ada"}
OUTPUT = {"text": "Hello Ada"}


def check(output: Any) -> None:
    """Raise ValueError unless *output* is what the work should have brought."""
    if output != OUTPUT:
        raise ValueError(f"the work was not done: {output!r}")
