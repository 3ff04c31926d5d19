"""A section of the report: the contenders it needs, and the rows that are read off them. Measures nothing."""

from __future__ import annotations

from dataclasses import dataclass

from .contender import Contender
from .samples import Source
from .target import Target


@dataclass(frozen=True, slots=True)
class Base:
    """What rows are compared with. *heading* is the column's."""

    heading: str
    source: Source


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    label: str
    source: Source
    target: Target | None = None
    ours: bool = False
    bases: tuple[Base, ...] | None = None  # instead of the section's


@dataclass(frozen=True, slots=True)
class Section:
    """One table. *key* names it on the command line; tables of one subject may share it."""

    key: str
    title: str
    unit: str
    contenders: tuple[Contender, ...] = ()
    rows: tuple[Row, ...] = ()
    bases: tuple[Base, ...] = ()
    notes: tuple[str, ...] = ()
    higher_is_better: bool = False
    drawn: bool = False  # in the plot, as ratios to `python -c pass`
