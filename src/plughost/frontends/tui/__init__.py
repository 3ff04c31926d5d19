"""Plugins' screens on a terminal: painting, keys, status. What runs and supervises them is the host."""
