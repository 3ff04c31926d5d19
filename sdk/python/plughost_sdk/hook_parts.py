"""What a handler yields: turns plain arguments into the contract's messages. Refuses what no message can carry.

Protobuf is imported when the first part is made, not when this module is.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict, TypeVar, Unpack

    from .hook_messages import Diagnostic, Fragment, PreflightResult

    Made = TypeVar("Made")

    class More(TypedDict, total=False):
        """What else a diagnostic may say."""

        title: str
        hint: str
        file: str
        line: int
        column: int
        snippet: str


# The numbers of MergeStrategy, and of Diagnostic.Level: known before protobuf is.
REPLACE = 1  # the fragment is the whole file
MERGE = 2  # it is merged into the file, as yaml or json
APPEND = 3  # it is appended, by `order`

_ERROR, _WARNING, _INFO = 1, 2, 3


class PartError(ValueError):
    """A part that cannot be sent: text that is not Unicode, a number out of range, a value of another type."""


def fragment(
    path: str, content: str, *, format: str = "", strategy: int = REPLACE, order: int = 0
) -> Fragment:
    """Return a file to write, or a piece of one. *path* is relative to the output directory.

    Raises PartError if it cannot be sent.
    """
    from .hook_messages import Fragment

    what = f"the fragment {path!r}"
    if strategy not in (REPLACE, MERGE, APPEND):
        raise PartError(f"{what} has the strategy {strategy!r}: it is one of REPLACE, MERGE, APPEND")
    return _made(Fragment, what, path=path, content=content, strategy=strategy, order=order, format=format)


def error(code: str, message: str, **more: Unpack[More]) -> Diagnostic:
    """Return a diagnostic that fails the run: nothing is written. *more* is as for `warning`."""
    return _diagnostic(_ERROR, code, message, **more)


def warning(code: str, message: str, **more: Unpack[More]) -> Diagnostic:
    """Return a diagnostic that is shown. *more* may be title, hint, and the place: file, line, column, snippet.

    Raises PartError if it cannot be sent.
    """
    return _diagnostic(_WARNING, code, message, **more)


def info(code: str, message: str, **more: Unpack[More]) -> Diagnostic:
    """Return a diagnostic that is worth knowing. *more* is as for `warning`."""
    return _diagnostic(_INFO, code, message, **more)


def run(*, reason: str = "", signature: bytes = b"") -> PreflightResult:
    """Answer a preflight: the job should run. The host keeps *signature* for the next time."""
    from .hook_messages import PreflightResult

    return _made(PreflightResult, "the answer", should_run=True, reason=reason, new_signature=signature)


def skip(*, reason: str = "", signature: bytes = b"") -> PreflightResult:
    """Answer a preflight: the job need not run. The host keeps *signature* for the next time."""
    from .hook_messages import PreflightResult

    return _made(PreflightResult, "the answer", should_run=False, reason=reason, new_signature=signature)


def _diagnostic(level: int, code: str, message: str, **more: Unpack[More]) -> Diagnostic:
    from .hook_messages import Diagnostic, SourceLocation

    what = f"the diagnostic {code!r}"
    title, hint = more.pop("title", ""), more.pop("hint", "")
    made = _made(Diagnostic, what, level=level, code=code, title=title, message=message, fix_hint=hint)
    if more:
        made.loc.CopyFrom(_made(SourceLocation, what, **more))
    return made


def _made(message_class: Callable[..., Made], what: str, **fields: Any) -> Made:
    for name, value in fields.items():
        if value is None:  # protobuf takes it for "not given": an empty file would be written
            raise PartError(f"{what} cannot be sent: its {name} is None")
    try:
        return message_class(**fields)
    except (TypeError, ValueError) as error:
        raise PartError(f"{what} cannot be sent: {error}") from error
