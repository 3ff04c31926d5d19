"""Text from a plugin as it may stand in a sentence of ours: quoted, printable and short."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 80  # characters of one text
MOST = 12  # texts of one list

# What ends a line, moves a cursor, turns the order of the text around it, or is nothing at all to the eye. The
# joiners U+200C and U+200D are not here: words and emoji are spelled with them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def quote(text: str) -> str:
    """Return *text* in quotes, with control characters spelled out, cut to a readable length."""
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST]!r}…"


def listed(texts: Sequence[str]) -> str:
    """Return *texts* separated by commas; plain where they are plain, quoted where they are not."""
    shown = [each if each.isprintable() and len(each) <= LONGEST else quote(each) for each in texts[:MOST]]
    more = [f"and {len(texts) - MOST} more"] if len(texts) > MOST else []
    return ", ".join(shown + more)


def one_line(text: str) -> str:
    """Return *text* as one line that shows all it holds: control characters and their like are spelled out."""
    return _UNSEEN.sub(lambda found: spelled(found[0]), text)


def spelled(character: str) -> str:
    """Return the escape that stands for *character*, as Python writes it: as long as its number needs."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_utf8(text: str) -> bool:
    """Tell whether *text* can be said in UTF-8: it holds none of the bytes that a file's odd name may hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
