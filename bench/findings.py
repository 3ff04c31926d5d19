"""Samples and sections to findings: per row the numbers, its ratios and the verdict on its target."""

from __future__ import annotations

from dataclasses import dataclass

from .samples import Samples
from .section import Row, Section
from .target import Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one row. Without values, *absent* says why."""

    row: Row
    quiet: float | None = None
    median: float | None = None
    ratios: tuple[tuple[str, float | None], ...] = ()  # of quiet values, by the base's heading
    verdict: Verdict | None = None
    absent: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON-ready values."""
        target = self.row.target
        return {
            "label": self.row.label,
            "contender": self.row.source.contender,
            "measure": self.row.source.measure,
            "quiet": self.quiet,
            "median": self.median,
            "ratios": dict(self.ratios),
            "target": target.text if target is not None else None,
            "verdict": self.verdict.text if self.verdict is not None else None,
            "met": self.verdict.met if self.verdict is not None else None,
            "absent": self.absent or None,
        }


def find(section: Section, samples: Samples) -> list[Finding]:
    """Return a finding for each row of *section*."""
    return [_find(row, section, samples) for row in section.rows]


def _find(row: Row, section: Section, samples: Samples) -> Finding:
    higher = section.higher_is_better
    quiet = samples.quiet(row.source, higher=higher)
    if quiet is None:
        return Finding(row, absent=samples.absent.get(row.source.contender, "not measured in this run"))
    compared = section.bases if row.bases is None else row.bases
    bases = ((base.heading, samples.quiet(base.source, higher=higher)) for base in compared)
    return Finding(
        row=row,
        quiet=quiet,
        median=samples.middle(row.source),
        ratios=tuple((heading, quiet / value if value else None) for heading, value in bases),
        verdict=_judge(row, samples, higher=higher),
    )


def _judge(row: Row, samples: Samples, *, higher: bool) -> Verdict | None:
    target = row.target
    if target is None:
        return None
    value = samples.middle(row.source) if target.of_median else samples.quiet(row.source, higher=higher)
    against = samples.quiet(target.against, higher=higher) if target.against is not None else None
    return None if value is None else target.judge(value, against)
