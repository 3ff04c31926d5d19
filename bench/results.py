"""A run as files: `results/latest.json` with every round in it, and `results/latest.svg`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from . import plot
from .findings import Finding
from .machine import Machine
from .revision import Revision
from .rounds import Plan, Run
from .samples import Source
from .section import Section

WHERE = Path(__file__).with_name("results")
YARDSTICK = Source("python-pass", "gone")


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a run has found."""

    machine: Machine
    code: Revision
    plan: Plan
    run: Run
    found: list[tuple[Section, list[Finding]]]
    code_changed: bool = False  # while it was measured


def write(results: Results) -> None:
    """Write both files over those of the last run."""
    WHERE.mkdir(exist_ok=True)
    (WHERE / "latest.json").write_text(json.dumps(_document(results), indent=1) + "\n")
    (WHERE / "latest.svg").write_text(_picture(results))


def _document(results: Results) -> dict[str, object]:
    return {
        "machine": asdict(results.machine),
        "code": asdict(results.code) | {"changed_during_run": results.code_changed},
        "rounds": results.plan.rounds,
        "seed": results.plan.seed,
        "busy_before_rounds": [round(share, 3) for share in results.run.busy],
        "sections": [
            {
                "key": section.key,
                "title": section.title,
                "unit": section.unit,
                "rows": [finding.to_dict() for finding in findings],
            }
            for section, findings in results.found
        ],
        "samples": results.run.samples.rounds,
        "absent": results.run.samples.absent,
    }


def _picture(results: Results) -> str:
    unit = results.run.samples.quiet(YARDSTICK)
    groups = []
    for section, findings in results.found:
        if section.drawn and unit:
            bars = tuple(
                plot.Bar(finding.row.label, finding.quiet / unit, finding.row.ours)
                for finding in findings
                if finding.quiet is not None
            )
            groups.append(plot.Group(section.title, bars))
    caption = f"{results.machine}. Quiet values (20th percentile) of {results.plan.rounds} rounds."
    return plot.draw(groups, caption)
