"""What a lint found, plugin by plugin, as values and JSON. It judges nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any


class Severity(Enum):
    """How bad a finding is: the plugin cannot work, probably does not do what was meant, or is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found; *field* is the key of the manifest, or the name in the class, if it is about one."""

    severity: Severity
    code: str
    message: str
    field: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "severity": self.severity.value,
            "code": self.code,
            "message": self.message,
            "field": self.field,
        }


@dataclass(frozen=True, slots=True)
class PluginLint:
    """All findings about the plugin in one directory."""

    path: Path
    name: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class LintReport:
    """All plugins that were looked at."""

    plugins: tuple[PluginLint, ...]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for plugin in self.plugins for finding in plugin.findings)

    @property
    def worst(self) -> Severity | None:
        """The gravest severity that was found, None if nothing was."""
        return next((each for each in Severity if self.count(each)), None)

    def strict(self) -> LintReport:
        """Return the report with its warnings as errors."""
        return LintReport(tuple(replace(each, findings=_raised(each.findings)) for each in self.plugins))

    def to_dict(self) -> dict[str, Any]:
        return {
            "plugins": [
                {
                    "path": str(plugin.path),
                    "name": plugin.name,
                    "findings": [finding.to_dict() for finding in plugin.findings],
                }
                for plugin in self.plugins
            ]
        }


def _raised(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(
        replace(each, severity=Severity.ERROR) if each.severity is Severity.WARNING else each
        for each in findings
    )


def error(code: str, message: str, field: str | None = None) -> Finding:
    return Finding(Severity.ERROR, code, message, field)


def warning(code: str, message: str, field: str | None = None) -> Finding:
    return Finding(Severity.WARNING, code, message, field)


def info(code: str, message: str, field: str | None = None) -> Finding:
    return Finding(Severity.INFO, code, message, field)
