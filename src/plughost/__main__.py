"""`python -m plughost` is `plughost`."""

from .frontends.cli.entry import run

run()
