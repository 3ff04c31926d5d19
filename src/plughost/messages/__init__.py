"""Frames to messages: typed and strict. No I/O, and no opinion on when a message may be said."""
