"""A header as a block of comment lines, and the place of it in a file. Bytes in, bytes out.

The file is never decoded as a whole, so what is not UTF-8 in it stays as it is.
"""

from __future__ import annotations

import re

BEGIN = "header-stamper: begin"
END = "header-stamper: end"

# How a comment line begins and ends, by the file's extension.
COMMENTS = {".md": ("<!-- ", " -->")}
OTHER = ("# ", "")

# What has to stay on top of a file: a byte order mark, then by extension.
MARK = b"\xef\xbb\xbf"
ON_TOP = {
    ".py": re.compile(rb"(?:#!.*\n)?(?:[ \t\f]*#.*?coding[:=].*\n)?"),
    ".md": re.compile(rb"(?:---[ \t]*\r?\n(?:.*\n)*?---[ \t]*(?:\r?\n|\Z))?"),
}
NOTHING = re.compile(rb"")


def stamped(data: bytes, extension: str, lines: list[str]) -> bytes:
    """Return the file *data* with *lines* as its header, in the place of the one it had."""
    newline = b"\r\n" if data.partition(b"\n")[0].endswith(b"\r") else b"\n"
    mark = MARK if data.startswith(MARK) else b""
    body = data[len(mark) :]
    found = ON_TOP.get(extension, NOTHING).match(body)
    top = found[0] if found else b""
    if top and not top.endswith(b"\n"):
        top += newline
    body = body[len(found[0]) if found else 0 :]
    block = [_comment(extension, line) for line in (BEGIN, *lines, END)]
    return mark + top + b"".join(line + newline for line in block) + _without_header(body, extension)


def _without_header(body: bytes, extension: str) -> bytes:
    begin, end = (re.escape(_comment(extension, line)) for line in (BEGIN, END))
    own = re.compile(rb"%b\r?\n(?:.*\n){0,20}?%b(?:\r?\n|\Z)" % (begin, end))
    found = own.match(body)
    return body[found.end() :] if found else body


def _comment(extension: str, line: str) -> bytes:
    """Return *line* as a comment that it cannot break out of."""
    before, after = COMMENTS.get(extension, OTHER)
    text = "".join(char if char.isprintable() else " " for char in line)
    if after:
        text = re.sub("-(?=-)", "- ", text)
    return f"{before}{text}{after}".encode()
