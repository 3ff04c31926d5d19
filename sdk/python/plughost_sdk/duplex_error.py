"""What goes wrong between a plugin and its host: an answer that is an error, and a host that is gone."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from typing import Any

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602  # of a call; the contract has no other code for a handler that failed
CAPABILITY_DENIED = -32001
ACTION_TIMEOUT = -32002
MANIFEST_VALIDATION = -32003

_PACKAGE = __name__.rpartition(".")[0] + "."


class _CodedError(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        if type(code) is not int:
            raise TypeError(f"the code of an error is an integer, not {code!r}")
        self.code = code
        self.message = str(message)
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class HostError(_CodedError):
    """The host answered a call with an error: `code`, `message`, and `data` if it gave any.

    A handler that lets it through answers its own caller with the same.
    """


class PluginError(_CodedError):
    """Raise it in a handler to answer with an error of your own. Nothing is printed for it."""


class HostGone(Exception):
    """The host hung up while a handler waited for its answer, or this is a fork that has no host.

    There is nothing left to do but to tidy up.
    """


class QueueFull(Exception):
    """The host sent too much while a handler waited for its answer. What was sent is handled after the handler."""


def is_of_the_sdk(error: BaseException) -> bool:
    """Tell whether *error*, as far as it has come, was raised by the SDK itself, and not by a signal handler in it."""
    at = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            return False
        at = at.tb_next
    return True
