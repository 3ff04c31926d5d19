"""The params of the host's calls: turns each into the arguments of its handler. Raises ValueError naming the member."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

from . import duplex_fields as fields
from .duplex_fields import SHORT_TEXT, U64
from .duplex_key import Key

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any


class Init:
    """What the host says when it has started the plugin. `config` is what the user configured.

    What the user left out has the default of the manifest. It is None if neither says anything.
    """

    __slots__ = ("abi_version", "config", "granted_capabilities", "host", "manifest_path")

    def __init__(self, params: dict[str, Any]) -> None:
        self.manifest_path = fields.text(params, "manifest_path")
        self.granted_capabilities = tuple(fields.texts(params, "granted_capabilities"))
        self.abi_version = fields.integer(params, "abi_version", fields.U32)
        self.config: Any = params.get("config")
        self.host: Any = params.get("host")


class Viewport:
    """The size of the screen, in cells."""

    __slots__ = ("generation", "height", "width")

    def __init__(self, width: int, height: int, generation: int = 0) -> None:
        self.width, self.height, self.generation = width, height, generation


def init(params: Any) -> tuple[Init]:
    return (Init(fields.members(params)),)


def nothing(_: Any) -> tuple[()]:
    """Read no params, whatever there is: a shutdown is never refused."""
    return ()


def render(params: Any) -> tuple[Viewport]:
    params = fields.members(params)
    size = fields.members(params.get("viewport"), "viewport")
    width, height = (fields.integer(size, name, fields.U16) for name in ("width", "height"))
    return (Viewport(width, height, fields.integer(params, "generation", U64, 0)),)


def key(params: Any) -> tuple[str, Key]:
    params = fields.members(params)
    fields.integer(params, "generation", U64)
    return fields.text(params, "screen_id"), Key.from_wire(params.get("key"))


def event(params: Any) -> tuple[str, bytes]:
    params = fields.members(params)
    return fields.text(params, "topic"), fields.blob(params, "payload")


def cli(params: Any) -> tuple[str, list[str]]:
    params = fields.members(params)
    return fields.text(params, "namespace"), fields.texts(params, "argv")


def action(params: Any) -> tuple[str, bytes]:
    try:  # the usual thing, in half the time
        name, payload, limit = params["action"], params["payload"], params["timeout_ms"]
        if type(name) is str and type(limit) is int and 0 <= limit <= U64 and len(payload) <= SHORT_TEXT:
            data = a2b_base64(payload)
            if b2a_base64(data, newline=False).decode() == payload:
                return name, data
    except (LookupError, TypeError, ValueError):
        pass  # whatever it is, it is found again
    params = fields.members(params)
    fields.integer(params, "timeout_ms", U64, 0)  # the host's to keep
    return fields.text(params, "action"), fields.blob(params, "payload")
