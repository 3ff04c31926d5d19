"""Findings to plain text, in a hundred columns. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

from .findings import Finding
from .section import Section

WIDTH = 100
LABEL = 50
NUMBER = 11
ASKED = 62  # leaves room for the longest verdict


def table(section: Section, findings: list[Finding]) -> str:
    """Return *section* as a table with its notes below it."""
    head = _head(section) if findings else section.title
    lines = [head, "-" * len(head)]
    for finding in findings:
        lines += _row(finding)
    lines += [fill(note, WIDTH, initial_indent="  ", subsequent_indent="  ") for note in section.notes]
    return "\n".join(lines)


def verdicts(found: Iterable[tuple[Section, list[Finding]]]) -> str:
    """Return one line per target: where it stands, what was asked, and what came of it."""
    lines = []
    for section, findings in found:
        for finding in findings:
            if finding.row.target is not None:
                asked = f"{finding.row.label} {finding.row.target.text}"
                lines.append(f"{section.key:11}{_cut(asked, ASKED):{ASKED}}  {_outcome(finding)}")
    return "\n".join(["Targets of the design", "---------------------", *(lines or ["none in this run"])])


def number(value: float | None) -> str:
    """Return *value* with three digits that count."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _head(section: Section) -> str:
    title = f"{section.title}, {section.unit}" if section.unit else section.title
    return f"{title:{LABEL}}" + _cells(["quiet", "median", *(base.heading for base in section.bases)])


def _row(finding: Finding) -> list[str]:
    label = f"{_cut(finding.row.label, LABEL - 1):{LABEL}}"
    if finding.quiet is None:
        return [fill(f"{label}skipped: {finding.absent}", WIDTH, subsequent_indent=" " * LABEL)]
    ratios = (number(ratio) for _, ratio in finding.ratios)
    lines = [label + _cells([number(finding.quiet), number(finding.median), *ratios])]
    if finding.row.target is not None:
        lines.append(f"    target: {finding.row.target.text}; {_outcome(finding)}")
    return lines


def _outcome(finding: Finding) -> str:
    return finding.verdict.text if finding.verdict is not None else "not measured"


def _cells(cells: Iterable[str]) -> str:
    return "".join(f"{cell:>{NUMBER}}" for cell in cells)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
