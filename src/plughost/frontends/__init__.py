"""Faces of the host: each only gives it a face, and decides nothing."""
