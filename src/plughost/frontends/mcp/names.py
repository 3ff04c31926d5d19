"""Plugins and their tools -> names that every client takes: stable, sorted, each used once. Knows no protocol."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LONGEST = 64  # characters: what common clients and models take
HASH_CHARS = 16  # of a hash: nobody finds another tool with the same one
SEPARATOR = "__"
DOT = "--"  # in place of a dot, which common clients and models do not take
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
# The first separator of a plain name is the one that we put there: the name says which plugin and which tool.
_PLUGIN = re.compile(r"(?!.*__)[A-Za-z0-9_.-]*[A-Za-z0-9.-]")
_TOOL = re.compile(r"[A-Za-z0-9_.-]+")
_LIKE_DOT = re.compile(r"--|-\.|\.-")  # a dash that could be taken for half of a dot
_LIKE_HASHED = re.compile(rf"_[0-9a-f]{{{HASH_CHARS}}}\Z")


def tool_names(tools: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return a name for each (plugin, tool), in the order of the names.

    It is `plugin__tool`, each dot written as `--`, where that can be read in one way only. Otherwise it ends in a
    hash of both: if it is too long, holds other characters, `--` or a dash beside a dot, the plugin's name holds `__`
    or ends in `_`, or the tool's name ends like a hash. What it is depends on nothing but the two.
    """
    return dict(sorted((_name(*pair), pair) for pair in set(tools)))


def _name(plugin: str, tool: str) -> str:
    exact = f"{plugin}{SEPARATOR}{tool}".replace(".", DOT)
    is_plain = _PLUGIN.fullmatch(plugin) is not None and _TOOL.fullmatch(tool) is not None
    is_plain = is_plain and _LIKE_DOT.search(plugin) is None and _LIKE_DOT.search(tool) is None
    if is_plain and len(exact) <= LONGEST and _LIKE_HASHED.search(exact) is None:
        return exact
    # The length of the first tells where the second begins: no two pairs are the same text here.
    both = f"{len(plugin)}:{plugin}{tool}".encode(errors="surrogatepass")
    digest = hashlib.sha256(both).hexdigest()[:HASH_CHARS]
    return f"{_UNFIT.sub('_', exact)[: LONGEST - HASH_CHARS - 1]}_{digest}"
