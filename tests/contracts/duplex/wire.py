"""What a plugin could write: messages as frames, right and wrong."""

import json

from plughost_sdk.frames.content_length import ContentLengthDecoder

from plughost.contracts.duplex.messages import FRAME_BYTES, InitParams

NAME, VERSION = "burndown", "2.0.0"
INIT = InitParams("/plugins/burndown/manifest.toml", ("event_bus",), 2)
OLD = {"name": NAME, "version": VERSION}  # one dialect
NEW = {
    "manifest": {"plugin": {"name": NAME, "version": VERSION, "abi_version": 2}},
    "abi_version": 2,
}  # the other


def framed(body):
    """Return *body* behind its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def frame(**members):
    """Return a message of *members* as a frame."""
    return framed(json.dumps({"jsonrpc": "2.0", **members}).encode())


def frames(data):
    """Return the messages in *data*, which holds whole frames only."""
    decoder = ContentLengthDecoder(FRAME_BYTES)
    decoder.receive_data(data)
    decoder.receive_eof()
    return [json.loads(body) for body in iter(decoder.next_frame, None)]
