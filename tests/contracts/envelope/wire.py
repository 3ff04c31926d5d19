"""What a worker could write: replies, right and wrong in one place at a time."""

import json

REQUEST = b'{"plugin_module":"stamp"}\n'


def message(**fields):
    """Return a line that holds *fields*; those that are None are left out."""
    return json.dumps({key: value for key, value in fields.items() if value is not None}).encode() + b"\n"


def per_file(**changes):
    """Return a reply about one file, with *changes* in what it says of it."""
    return message(result="success", per_file=[{"path": "/tree/a.txt", "status": "modified", **changes}])


def preview(**changes):
    """Return a reply that describes one change, with *changes* in it."""
    return per_file(status="described", changes=[{"path": "/tree/a.txt", "kind": "modify", **changes}])


def question(*fields, **changes):
    """Return a reply that asks for *fields*, a colour if there are none, with *changes* in its question."""
    asked = {"fields": list(fields or [{"id": "colour"}]), "reason": "It has none.", **changes}
    return message(result="input_required", per_file=[], input_required=asked)


def field(**changes):
    """Return a reply that asks for one field, with *changes* in it."""
    return question({"id": "colour", **changes})


SUCCESS = per_file()
FAILED = message(result="failed", error_message="No.")
QUESTION = question()
BARE_QUESTION = message(result="input_required", per_file=[])
VALIDATED = message(errors=[])
