"""What all plugins offered -> the files to be, by path. Refuses what two plugins do not agree on. Touches no disk.

Fragments of one run are combined with each other, and never with what is on the disk: else a second run would
append again, and nobody could tell whether the files are up to date.

- A *replace* is the file. There is one of them; a plugin may repeat its own, byte by byte.
- An *append* follows what is there: by its `order`, then by plugin in the order of the offers, then as it came. A
  part that does not end its last line gets the end of line that is missing; otherwise nothing is added.
- A *merge* is merged into what is there, in the same order, as `structure` says. What is alone stays as it is, byte
  by byte, but it has to be what its format says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import FragmentError
from ..messages.quoting import quote
from . import json_text, yaml_text
from .budget import Budget
from .offers import STRATEGIES, Offer, Output, Strategy
from .paths import normalise, refuse_collisions
from .structure import Text, merge

FILES_LIMIT = 10_000  # files of one run
TOTAL_LIMIT = 67_108_864  # bytes of all of them: held in memory, and written twice before anything counts
FILE_LIMIT = 10_485_760  # bytes of one of them: as much as a frame can carry
MERGE_LIMIT = 131_072  # bytes that are merged into one file
MERGES_LIMIT = (
    524_288  # bytes that are merged in one run: two seconds if they are all text; `budget` counts values
)

_YAML, _JSON = (yaml_text.read, yaml_text.write), (json_text.read, json_text.write)
_FORMATS = {"yaml": _YAML, "yml": _YAML, "json": _JSON}


@dataclass(frozen=True, slots=True)
class _Part:
    """A fragment that was read: *rank* puts the parts of a path in order."""

    plugin: str
    path: str
    strategy: Strategy
    rank: tuple[int, int, int]
    format: str
    content: str


def combine(offers: Sequence[Offer], *, check: Callable[[], None] | None = None) -> list[Output]:
    """Return the files that come of the *offers*, by path. Raises FragmentError for what cannot be one.

    It may take seconds. *check* is called many times in each; what it raises ends the work and is let through.
    """
    budget = Budget(check)
    ranks: dict[str, int] = {}
    parts: dict[str, list[_Part]] = {}
    for arrival, offer in enumerate(offers):
        part = _read(offer, ranks.setdefault(offer.plugin, len(ranks)), arrival)
        parts.setdefault(part.path, []).append(part)
        if len(parts) > FILES_LIMIT:
            raise FragmentError(part.plugin, "", f"over {FILES_LIMIT} files in all", "Generate fewer files")
    refuse_collisions((path, found[0].plugin) for path, found in parts.items())
    outputs: list[Output] = []
    total = merged = 0
    for path in sorted(parts):
        found = sorted(parts[path], key=lambda part: part.rank)
        if any(part.strategy is Strategy.MERGE for part in found):
            merged += _size(found)
            _bound(found[-1], merged, MERGES_LIMIT, "to be merged in one run")
        outputs.append(_combine_one(found, budget))
        total += len(outputs[-1].content)
        _bound(found[-1], total, TOTAL_LIMIT, "in all files")
    return outputs


def _read(offer: Offer, rank: int, arrival: int) -> _Part:
    fragment = offer.fragment
    path = normalise(offer.plugin, fragment.path)
    strategy = STRATEGIES.get(fragment.strategy)
    if strategy is None:
        problem = f"the merge strategy {fragment.strategy}, which this host does not know"
        raise FragmentError(offer.plugin, path, problem, "Use REPLACE, APPEND or MERGE")
    ranks = fragment.order, rank, arrival
    return _Part(offer.plugin, path, strategy, ranks, fragment.format.casefold(), fragment.content)


def _combine_one(parts: list[_Part], budget: Budget) -> Output:
    """Return the file that the *parts* of one path make, which are in order."""
    base = _base([part for part in parts if part.strategy is Strategy.REPLACE])
    appends = [part for part in parts if part.strategy is Strategy.APPEND]
    merges = [part for part in parts if part.strategy is Strategy.MERGE]
    if appends and merges:
        raise _conflict(appends[0], merges[0], "it is to be appended to, and to be merged into")
    used = [*base, *merges, *appends]
    content = _merged(used, budget) if merges else _appended(used)
    _bound(used[-1], len(content), FILE_LIMIT, "in one file")
    plugins = tuple(dict.fromkeys(part.plugin for part in used))
    strategies = tuple(dict.fromkeys(str(part.strategy) for part in used))
    return Output(used[0].path, content, plugins, strategies)


def _base(replaces: list[_Part]) -> list[_Part]:
    """Return the one part that is the file, or none."""
    for part in replaces[1:]:
        if part.plugin != replaces[0].plugin or part.content != replaces[0].content:
            raise _conflict(replaces[0], part, "each generates the whole file")
    return replaces[:1]


def _appended(parts: list[_Part]) -> bytes:
    texts = [part.content for part in parts if part.content]
    ended = [text if text.endswith("\n") else f"{text}\n" for text in texts[:-1]]
    return "".join([*ended, *texts[-1:]]).encode()


def _merged(parts: list[_Part], budget: Budget) -> bytes:
    _bound(parts[-1], _size(parts), MERGE_LIMIT, "to be merged into one file")
    read, write = _FORMATS[_format(parts)]
    texts = [Text(part.plugin, part.path, part.content) for part in parts]
    trees = [tree for tree in (read(text, budget) for text in texts) if tree is not None]
    if len(parts) == 1 or not trees:  # nothing to merge, or nothing but comments
        return parts[0].content.encode()
    for more in trees[1:]:
        merge(trees[0], more, parts[0].path)
    return write(trees[0], texts[0], budget)


def _size(parts: list[_Part]) -> int:
    return sum(len(part.content.encode()) for part in parts)


def _format(parts: list[_Part]) -> str:
    """Return the one format in which all *parts* are, as they say or else by the name of their file."""
    said = {part.format: part for part in parts if part.format}
    if not said:
        part = next(part for part in parts if part.strategy is Strategy.MERGE)
        said = {part.path.rpartition(".")[2].casefold(): part}
    for name, part in said.items():
        if name not in _FORMATS:
            raise FragmentError(
                part.plugin,
                part.path,
                f"cannot be merged as {quote(name)}",
                "Say `yaml` or `json`, or append",
            )
    first, *others = said.items()
    for name, part in others:
        if _FORMATS[name] is not _FORMATS[first[0]]:
            raise _conflict(first[1], part, f"it is {first[0]} for one and {name} for the other")
    return first[0]


def _conflict(one: _Part, other: _Part, problem: str) -> FragmentError:
    who = f"{one.plugin} and {other.plugin}" if one.plugin != other.plugin else f"{one.plugin} twice"
    return FragmentError(other.plugin, other.path, f"{problem}: {who}", "Let one of them give way")


def _bound(part: _Part, size: int, limit: int, what: str) -> None:
    if size > limit:
        raise FragmentError(part.plugin, part.path, f"over {limit} bytes {what}", "Generate less")
