"""Text and values to the same without what looks like a secret. A guess from names and shapes, not a promise.

Every pattern is linear in the text: what it skips over cannot begin another match.
"""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"
SHOWN_DEPTH = 6  # levels of a value that are shown; what is deeper nobody reads in a log

_NAME = r"(?:pass(?:word|wd|phrase)|pwd|token|secret|authorization|credential|(?:api|private)[_-]?key)"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_PATTERNS = (
    re.compile(r"(://[^\s/:@]*:)[^\s/]*(@)"),  # user:password@ in a URL
    re.compile(r"(\bBearer\s{1,8})[^\s\"',;]+()", re.IGNORECASE),
    re.compile(  # password=…, "api_key": "…", Authorization: Basic …
        rf"({_NAME}\w{{0,32}}\\?[\"']?\s{{0,8}}[=:]\s{{0,8}})"
        r"(?:\\?\"[^\"]*\"?|'[^']*'?|(?:(?:Bearer|Basic)\s{1,8})?[^\s\"',;&]+)()",
        re.IGNORECASE,
    ),
)


def redact(text: str) -> str:
    """Return *text* without passwords in URLs, bearer tokens and what stands behind `password=` and its like."""
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\1{HIDDEN}\2", text)
    return text


def is_secret(key: str) -> bool:
    """Tell whether the value of *key* is better not shown."""
    return _SECRET_NAME.search(key) is not None


def redacted(value: Any, levels: int = SHOWN_DEPTH) -> Any:
    """Return a JSON *value* without secrets, and cut off below *levels*."""
    match value:
        case str():
            return redact(value)
        case dict() | list() if not levels:
            return "…"
        case dict():
            return {
                key: HIDDEN if is_secret(key) else redacted(each, levels - 1) for key, each in value.items()
            }
        case list():
            return [redacted(each, levels - 1) for each in value]
        case _:
            return value
