"""Plan or Generate: tell which of the two a request is by the shape of its fields.

A frame carries no name. Both requests hold the same five kinds of thing, but the schema is field 3 of a PlanRequest and
field 4 of a GenerateRequest, where the other message has entries of a map. An entry has a key and a value, fields 1
and 2, and nothing else.
"""

from __future__ import annotations

from .hook_handshake import fields

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    Parts = dict[int, list[bytes]]

PLAN, GENERATE = "plan", "generate"
_ENTRY = {1, 2}  # the fields of an entry of a map
_TARGET, _GRAPH, _PLANS_SCHEMA, _GENERATES_SCHEMA, _REPO = 1, 2, 3, 4, 5


def tell(frame: bytes) -> str | None:
    """Return which of the two requests *frame* is, or None if it could be both or cannot be read."""
    parts = _parts(frame)
    if parts is None:
        return None
    for judge in (_is_message, _is_small_schema):
        if any(map(judge, parts.get(_GENERATES_SCHEMA, ()))):
            return GENERATE
        if any(map(judge, parts.get(_PLANS_SCHEMA, ()))):
            return PLAN
    if any(map(_is_message, parts.get(_GRAPH, ()))):
        return GENERATE
    if any(map(_is_message, parts.get(_REPO, ()))):
        return PLAN
    # A target is one word; capabilities are as many as there are, such as `provider:github`.
    alone = parts[_TARGET] if parts.keys() == {_TARGET} else []
    return GENERATE if len(alone) == 1 and b":" not in alone[0] else None


def _parts(data: bytes) -> Parts | None:
    """Return the values of *data* by the number of their field, numbers as no bytes; None if it is no message."""
    found: Parts = {}
    try:
        for number, value in fields(data):
            found.setdefault(number, []).append(value if isinstance(value, bytes) else b"")
    except ValueError:
        return None
    return found


def _is_message(data: bytes) -> bool:
    """Tell whether *data* is a message that no entry of a map is."""
    try:
        return any(number not in _ENTRY or isinstance(value, int) for number, value in fields(data))
    except ValueError:
        return False


def _is_small_schema(data: bytes) -> bool:
    """Tell whether *data* is a schema of which only the version and the project are set."""
    parts = _parts(data) or {}
    project = [_parts(value) for value in parts.get(2, ())]
    if project:
        return all(inner is not None and inner.keys() <= _ENTRY and inner for inner in project)
    return any(version.isdigit() for version in parts.get(1, ()))
