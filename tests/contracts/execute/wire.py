"""What a plugin could write: handshakes and responses, right and wrong in one field at a time."""

import json

REQUEST_ID = "plugin_req_0123456789abcdef"


def message(**fields):
    """Return a line that holds *fields*; those that are None are left out."""
    return json.dumps({key: value for key, value in fields.items() if value is not None}).encode() + b"\n"


def shake(type="handshake", **changes):
    """Return a handshake reply with *changes* in its manifest."""
    usual = {"plugin_id": "greeter", "plugin_version": "1.0", "protocol_version": "rterm.plugin.v1"}
    manifest = {**usual, "exposed_tools": ["echo", "other"], **changes}
    return message(type=type, manifest={key: value for key, value in manifest.items() if value is not None})


def respond(**changes):
    """Return a response with *changes*."""
    usual = {"type": "response", "request_id": REQUEST_ID, "status": "ok", "output": {"a": 1}}
    return message(**{**usual, **changes})


SHAKE, OK = shake(), respond()
ERROR = respond(status="error", output=None, error={"code": "no", "message": "No."})
