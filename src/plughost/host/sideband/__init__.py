"""Consoles: workers of the `sideband` contract, one after the other, by either host."""
