"""A command's outcome: turns what a `cli` handler returns, prints and exits with into the bytes of the wire."""

from __future__ import annotations

import codecs
import io
import sys

from . import duplex_fields as fields
from .duplex_report import say

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXIT_NOT_HANDLED = 2
LARGEST_EXIT = 2**31 - 1  # the wire's exit_code is a signed 32-bit number
# An error handler: names of files are any bytes, which Python keeps as surrogates.
AS_FOUND = "plughost-as-found"


class CliResult:
    """What a command wrote and how it ended. Text is sent as UTF-8; bytes as they are."""

    __slots__ = ("exit_code", "stderr", "stdout")

    def __init__(self, stdout: str | bytes = b"", stderr: str | bytes = b"", exit_code: int = 0) -> None:
        self.stdout = _bytes(stdout)
        self.stderr = _bytes(stderr)
        if type(exit_code) is not int or not -LARGEST_EXIT - 1 <= exit_code <= LARGEST_EXIT:
            raise ValueError(f"an exit code is a 32-bit integer, not {exit_code!r}")
        self.exit_code = exit_code

    @classmethod
    def of(cls, returned: Any) -> CliResult:
        """Return the result that a handler means: nothing, an exit code, output, or all of it."""
        if isinstance(returned, cls):
            return returned
        if returned is None:
            return cls()
        if isinstance(returned, str | bytes):
            return cls(returned)
        if isinstance(returned, int):
            return cls(exit_code=int(returned))
        raise TypeError(f"a command returns an int, str, bytes or CliResult, not {type(returned).__name__}")

    def to_wire(self) -> dict[str, Any]:
        return {
            "stdout": fields.to_wire(self.stdout),
            "stderr": fields.to_wire(self.stderr),
            "exit_code": self.exit_code,
        }


def run(command: Callable[[list[str]], Any], argv: list[str]) -> CliResult:
    """Run *command*. What it prints is its output, and `sys.exit`, as argparse does it, is its end."""
    printed, complained = _Kept(), _Kept()
    before = sys.stdout, sys.stderr
    # Not StringIO: a command may write bytes, to `sys.stdout.buffer`. What is printed keeps its place between them.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(each, "utf-8", AS_FOUND, newline="", write_through=True)
        for each in (printed, complained)
    )
    try:
        try:
            result = CliResult.of(command(argv))
        finally:
            _flush()
    except SystemExit as ended:
        result = _ended(ended.code)
    except BaseException:
        output = (printed.getvalue() + complained.getvalue()).rstrip()
        if output:
            # An error is answered, without output: let the author see it.
            say(output.decode(errors="replace"))
        raise
    finally:
        sys.stdout, sys.stderr = before
    return CliResult(
        printed.getvalue() + result.stdout,
        complained.getvalue() + result.stderr,
        result.exit_code,
    )


class _Kept(io.BytesIO):
    """What was written. A wrapper that is closed, or forgotten, closes what it wraps: here that means nothing."""

    def close(self) -> None:
        pass


def _flush() -> None:
    """Have everything written, as at the end of a program: a command may have put a wrapper of its own there."""
    for each in (sys.stdout, sys.stderr):
        try:
            each.flush()
        except (AttributeError, OSError, ValueError):  # it is no file at all, is full, or is closed
            pass


def not_handled(namespace: str) -> CliResult:
    """Return the contract's answer to a namespace that the plugin does not have."""
    return CliResult(stderr=f"plugin does not handle namespace `{namespace}`\n", exit_code=EXIT_NOT_HANDLED)


def _ended(code: Any) -> CliResult:
    if code is None or isinstance(code, int):
        return CliResult.of(code)
    return CliResult(stderr=f"{code}\n", exit_code=1)  # as Python does it


def _bytes(output: str | bytes) -> bytes:
    if isinstance(output, str):
        return output.encode("utf-8", AS_FOUND)
    if isinstance(output, bytes):
        return output
    raise TypeError(f"output is str or bytes, not {type(output).__name__}")


def _as_found(error: UnicodeError) -> tuple[bytes, int]:
    """Encode a surrogate that stands for a byte as that, and another, which stands for nothing, as a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    byte = ord(error.object[error.start]) - 0xDC00
    return bytes([byte]) if 0x80 <= byte <= 0xFF else b"?", error.start + 1


codecs.register_error(AS_FOUND, _as_found)
