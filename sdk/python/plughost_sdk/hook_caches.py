"""The key of a cache that a schema defines, as the host puts it into steps that name the cache.

It is the name, then the parts that are words, then a checksum of each file, in the templates of CircleCI:
`pip-{{ arch }}-{{ checksum "pyproject.toml" }}`. What changes most comes last, so that the beginning of a key finds
what is nearest to it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .hook_messages import CigenSchema

_GROUP = "@"
_FILE = re.compile(r".*\.[A-Za-z]\w*(?:-\w+)*")  # an extension that begins with a letter: not `3.10`
_BARE_NAMES = ("Gemfile", "Dockerfile", "Makefile", "Pipfile", "Rakefile", "Procfile")


def key_of(name: str, schema: CigenSchema) -> str:
    """Return the key of the cache *name* of *schema*; an empty text if it defines none of that name."""
    if name not in schema.caches:
        return ""
    words, files = [name], []
    for part in _parts(schema.caches[name].key_parts, schema, ()):
        if _is_file(part):
            files.append(f'{{{{ checksum "{part}" }}}}')
        else:
            words.append(part)
    return "-".join(dict.fromkeys((*words, *files)))


def _parts(written: Iterable[str], schema: CigenSchema, groups: tuple[str, ...]) -> Iterator[str]:
    """Yield what is *written*, with the files of a group in the place of its name; *groups* are those around it."""
    for part in written:
        group = part.removeprefix(_GROUP)
        if not part.startswith(_GROUP) or group not in schema.source_file_groups:
            yield part
        elif group not in groups:
            yield from _parts(schema.source_file_groups[group].values, schema, (*groups, group))


def _is_file(text: str) -> bool:
    """Tell whether *text* names files: a glob, a name with an extension, or one that never has any."""
    if not text or any(char.isspace() for char in text) or "{{" in text:
        return False
    return "*" in text or text.rpartition("/")[2] in _BARE_NAMES or bool(_FILE.fullmatch(text))
