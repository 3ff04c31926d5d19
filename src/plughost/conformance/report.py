"""What a check found, axis by axis, as text, JSON or JUnit. It judges nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any
from xml.sax.saxutils import escape, quoteattr


class Status(Enum):
    """How an axis came out."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Axis:
    """One requirement and how the plugin did on it."""

    id: str
    name: str  # what the requirement says
    status: Status
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All axes of one plugin."""

    contract: str
    plugin: str
    axes: tuple[Axis, ...]

    @property
    def passed(self) -> bool:
        return not any(axis.status is Status.FAILED for axis in self.axes)

    def count(self, status: Status) -> int:
        return sum(axis.status is status for axis in self.axes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "contract": self.contract,
            "plugin": self.plugin,
            "axes": [
                {"id": axis.id, "name": axis.name, "status": axis.status.value, "detail": axis.detail}
                for axis in self.axes
            ],
        }

    def to_junit(self) -> str:
        """Return the report as a JUnit XML document."""
        counts = (
            f'tests="{len(self.axes)}" failures="{self.count(Status.FAILED)}" '
            f'skipped="{self.count(Status.SKIPPED)}"'
        )
        cases = "\n".join(map(self._case, self.axes))
        name = quoteattr(_printable(f"plughost check {self.plugin}"))
        return (
            f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {counts}>\n'
            f"<testsuite name={name} {counts}>\n{cases}\n</testsuite>\n</testsuites>\n"
        )

    def _case(self, axis: Axis) -> str:
        head = f"<testcase classname={quoteattr(self.contract)} name={quoteattr(axis.id)}"
        detail = _printable(axis.detail)
        match axis.status:
            case Status.PASSED:
                return f"{head}/>"
            case Status.SKIPPED:
                return f"{head}><skipped message={quoteattr(detail)}/></testcase>"
            case Status.FAILED:
                says = escape(axis.name)
                return f"{head}><failure message={quoteattr(detail)}>{says}</failure></testcase>"


def _printable(text: str) -> str:
    """XML cannot hold most control characters, not even escaped."""
    return "".join(c if c.isprintable() else "�" for c in text)
