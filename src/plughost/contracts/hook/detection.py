"""What several plugins have detected, as one picture. Turns results into signals and facts; believes the surest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plughost_sdk import hook_messages as wire


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two plugins say different things about one fact."""

    fact: str
    believed: str  # the plugin whose value is used
    doubted: str


@dataclass(frozen=True, slots=True)
class Detection:
    """The signals and facts of all plugins together."""

    signals: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    confidence: Mapping[str, float] = field(default_factory=dict)  # by plugin
    disagreements: tuple[Disagreement, ...] = ()


def aggregate(results: Sequence[tuple[str, wire.DetectResult]]) -> Detection:
    """Return what the plugins, each by name, have detected together.

    Of two values for one fact that of the surer plugin is used, of two equally sure ones that of the first.
    """
    surest = sorted(results, key=lambda each: -each[1].confidence)  # stable: the order given breaks ties
    facts: dict[str, str] = {}
    owners: dict[str, str] = {}
    disagreements = []
    for plugin, result in surest:
        for fact, value in sorted(result.facts.items()):
            if fact not in facts:
                facts[fact], owners[fact] = value, plugin
            elif facts[fact] != value:
                disagreements.append(Disagreement(fact, owners[fact], plugin))
    return Detection(
        signals=tuple(sorted({signal for _, result in results for signal in result.signals})),
        facts=dict(sorted(facts.items())),
        confidence={plugin: round(result.confidence, 6) for plugin, result in results},
        disagreements=tuple(disagreements),
    )
