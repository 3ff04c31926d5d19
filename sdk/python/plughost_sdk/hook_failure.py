"""A call that failed: turns an exception into an ERROR diagnostic, and tells standard error. Raises nothing itself."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from .frames.errors import FrameTooLarge
from .hook_conversation import say
from .hook_messages import Diagnostic, SourceLocation
from .hook_parts import PartError

PLUGIN_EXCEPTION = "PLUGIN_EXCEPTION"  # the handler raised it
REPLY_INVALID = "REPLY_INVALID"  # what the handler made cannot be sent
REPLY_TOO_LARGE = "REPLY_TOO_LARGE"  # it could, if it were smaller

_SDK = os.path.dirname(__file__) + os.sep


def diagnose(error: Exception, code: str, handler: Callable[..., Any]) -> Diagnostic:
    """Return what to answer in place of a result, and print what the author needs to see.

    *code* is what the failure is unless *error* itself says better.
    """
    if isinstance(error, FrameTooLarge):
        code = REPLY_TOO_LARGE
    elif isinstance(error, PartError):
        code = REPLY_INVALID
    message = _words(error)
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_SDK)
    ]
    if frames:
        say(_traceback(error))
        place = SourceLocation(file=_sendable(frames[-1].filename), line=frames[-1].lineno or 0)
    else:  # the handler is through: where it begins is the nearest that there is
        say(f"plughost-sdk: {message}")
        start = getattr(handler, "__code__", None)
        place = SourceLocation(
            file=_sendable(getattr(start, "co_filename", "")), line=getattr(start, "co_firstlineno", 0)
        )
    return Diagnostic(
        level=Diagnostic.LEVEL_ERROR,
        code=code,
        title=_sendable(type(error).__name__),
        message=message,
        loc=place,
    )


def _traceback(error: Exception) -> str:
    try:
        return "".join(traceback.format_exception(error)).rstrip()
    except Exception:  # what the exception refers to cannot be shown: that must not cost the answer
        return f"plughost-sdk: {_words(error)}"


def _words(error: Exception) -> str:
    try:
        return _sendable(str(error)) or type(error).__name__
    except Exception:
        return "(it cannot be shown)"


def _sendable(text: str) -> str:
    """Return *text* without lone surrogates, which no message can carry."""
    return text.encode("utf-8", "replace").decode()
