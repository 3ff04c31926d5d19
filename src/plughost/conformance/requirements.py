"""The clauses of a SPEC.md as data. Turns Markdown into requirements; checks nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

_CLAUSE = re.compile(
    r"^- `(?P<id>[a-z]+:[a-z]+:[a-z0-9-]+)` \*\((?P<side>plugin|host)\)\* (?P<says>.+?)(?=^- |^#|\Z)",
    re.M | re.S,
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One clause: what it says, and whom it binds ("plugin" or "host")."""

    id: str
    side: str
    says: str


def requirements(contract: str) -> dict[str, Requirement]:
    """Return the clauses of a contract's SPEC.md by id, in its order."""
    text = files(f"plughost.contracts.{contract}").joinpath("SPEC.md").read_text(encoding="utf-8")
    found = {}
    for clause in _CLAUSE.finditer(text):
        says = " ".join(clause["says"].split())
        found[clause["id"]] = Requirement(clause["id"], clause["side"], says)
    return found
