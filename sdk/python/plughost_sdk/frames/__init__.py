"""Bytes to frames and back, with no I/O: three codecs that host and plugin share.

A decoder is fed with `receive_data` and `receive_eof`, and asked with `next_frame`, which returns one
frame, or None for "not yet". What is inside a frame is nobody's business here.

Import the codec you need (`plughost_sdk.frames.lines`, `.content_length`, `.length_prefix`); this
package itself imports none of them, so that a plugin pays for one codec only.
"""
