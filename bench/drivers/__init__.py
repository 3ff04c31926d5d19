"""Drivers of what needs nothing but plughost and the standard library. Each is run with `python -m`."""
