"""Runs of `hook` plugins: many providers at once, one after the other through their phases, and files at the end."""
