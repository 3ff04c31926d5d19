"""`python -m plughost` is `plughost`."""

from .frontends.cli.main import run

run()
