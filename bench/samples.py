"""What was measured: per contender, one value of each measure per round. Turns them into quiet and median."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from .stopwatch import Marks

QUIET = (
    0.2  # the share of rounds that were at least this good: shared machines slow down for seconds at a time
)


@dataclass(frozen=True, slots=True)
class Source:
    """Which measure of which contender."""

    contender: str
    measure: str


@dataclass(slots=True)
class Samples:
    """All rounds of one run."""

    rounds: dict[str, list[Marks]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)  # contender -> why there is nothing

    def add(self, contender: str, samples: list[Marks]) -> None:
        """Note a round: of several jobs in it, the median of each measure counts."""
        names = samples[0].keys()
        values = {name: median(sample[name] for sample in samples) for name in names}
        self.rounds.setdefault(contender, []).append(values)

    def drop(self, contender: str, why: str) -> None:
        """Forget a contender that failed: half of a comparison is none."""
        self.rounds.pop(contender, None)
        self.absent[contender] = why

    def of(self, source: Source) -> list[float]:
        """Return one value per round, in order; none if it was not measured."""
        return [marks[source.measure] for marks in self.rounds.get(source.contender, [])]

    def quiet(self, source: Source, *, higher: bool = False) -> float | None:
        """Return the value that a fifth of the rounds reached or bettered; *higher* means better."""
        values = sorted(self.of(source), reverse=higher)
        return _quantile(values, QUIET) if values else None

    def middle(self, source: Source) -> float | None:
        values = self.of(source)
        return median(values) if values else None


def _quantile(ordered: list[float], share: float) -> float:
    at = (len(ordered) - 1) * share
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
