"""What a run over providers brought: fragments, findings, files and how each provider fared. A value; does nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from plughost_sdk import hook_messages as wire

from ...contracts.hook.detection import Detection
from ...fragments import Change, Output

Level = Literal["error", "warning", "info"]
_LEVELS: dict[int, Level] = {
    wire.Diagnostic.LEVEL_ERROR: "error",
    wire.Diagnostic.LEVEL_WARNING: "warning",
    wire.Diagnostic.LEVEL_INFO: "info",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic of a provider: what it says, where, and what to do."""

    plugin: str
    phase: str
    level: Level
    code: str
    title: str
    message: str
    hint: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    snippet: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, without what was not said."""
        return {name: value for name, value in asdict(self).items() if value or name in _ALWAYS}


_ALWAYS = ("plugin", "phase", "level", "code", "message")


def finding(plugin: str, phase: str, diagnostic: wire.Diagnostic) -> Finding:
    """Return *diagnostic* as a finding. A level that is not said, or unknown, is a warning: nothing is hushed up."""
    place = diagnostic.loc
    return Finding(
        plugin=plugin,
        phase=phase,
        level=_LEVELS.get(diagnostic.level, "warning"),
        code=diagnostic.code,
        title=diagnostic.title,
        message=diagnostic.message,
        hint=diagnostic.fix_hint,
        file=place.file,
        line=place.line,
        column=place.column,
        snippet=place.snippet,
    )


@dataclass(frozen=True, slots=True)
class Offered:
    """A fragment as a provider offered it."""

    plugin: str
    path: str
    strategy: str
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {"path": self.path, "strategy": self.strategy, "bytes": self.bytes, "plugin": self.plugin}


@dataclass(frozen=True, slots=True)
class ProviderReport:
    """How one provider fared."""

    name: str
    version: str
    capabilities: tuple[str, ...]
    phases: tuple[str, ...]
    timings_ms: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generation:
    """What a run brought. `failed` if a provider reported an error: then nothing was written."""

    providers: tuple[ProviderReport, ...]
    fragments: tuple[Offered, ...]
    diagnostics: tuple[Finding, ...]
    outputs: tuple[Output, ...]
    changes: tuple[Change, ...]  # empty without an output directory
    detection: Detection
    written: bool

    @property
    def failed(self) -> bool:
        return any(each.level == "error" for each in self.diagnostics)

    @property
    def up_to_date(self) -> bool:
        """The files on disk are what the providers would write."""
        return not self.failed and all(change.kind == "unchanged" for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "fragments": [each.to_dict() for each in self.fragments],
            "diagnostics": [each.to_dict() for each in self.diagnostics],
            "files": [{"path": change.path, "change": change.kind} for change in self.changes],
            "providers": [asdict(each) for each in self.providers],
            "signals": list(self.detection.signals),
            "facts": dict(self.detection.facts),
            "failed": self.failed,
            "written": self.written,
        }
