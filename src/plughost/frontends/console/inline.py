"""A picture -> what makes a terminal show it, by its own protocol. Asks the terminal nothing: it might not answer."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import Enum

from ...contracts.sideband.items import Image
from .picture import PNG, size

LARGEST_BYTES = 8_388_608  # of a picture: as text it is a third more, over what may be a slow line
LARGEST_PIXELS = 33_177_600  # as many as an 8K screen has: a small file may claim any number
CHUNK = 4_096  # characters of one escape sequence: the most that kitty takes


class Protocol(Enum):
    """How a terminal is told of a picture."""

    KITTY = "kitty"
    ITERM = "iterm"


_PROGRAMS = {
    "kitty": Protocol.KITTY,
    "ghostty": Protocol.KITTY,
    "iTerm.app": Protocol.ITERM,
    "WezTerm": Protocol.ITERM,
    "mintty": Protocol.ITERM,
}
_TERMS = {"xterm-kitty": Protocol.KITTY, "xterm-ghostty": Protocol.KITTY}


def protocol(environ: Mapping[str, str]) -> Protocol | None:
    """Return what the terminal understands by what the environment says of it, None if nothing is known."""
    term = environ.get("TERM", "")
    if "TMUX" in environ or term.startswith(
        ("screen", "tmux")
    ):  # the terminal behind it is not the one we write to
        return None
    if term in _TERMS:
        return _TERMS[term]
    program = environ.get("TERM_PROGRAM") or ("iTerm.app" if environ.get("LC_TERMINAL") == "iTerm2" else "")
    if program:
        return _PROGRAMS.get(program)
    return Protocol.KITTY if environ.get("KITTY_WINDOW_ID") else None


def encode(image: Image, by: Protocol) -> bytes | None:
    """Return what shows *image*; None for one that is no PNG, or too large."""
    found = size(image.data)
    if found is None or len(image.data) > LARGEST_BYTES or found.width * found.height > LARGEST_PIXELS:
        return None
    assert image.data.startswith(PNG)
    text = base64.b64encode(image.data)
    if by is Protocol.ITERM:
        return b"\x1b]1337;File=inline=1;size=%d:%b\x07\n" % (len(image.data), text)
    pieces = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
    commands = [b"m=1"] * (len(pieces) - 1) + [b"m=0"]
    commands[0] = b"a=T,f=100,q=2," + commands[0]  # q=2: it answers nothing, which we would take for typing
    return b"".join(b"\x1b_G%b;%b\x1b\\" % pair for pair in zip(commands, pieces, strict=True)) + b"\n"
