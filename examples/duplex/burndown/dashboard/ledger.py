"""Sums by day, project and model of published `UsageDataEvent`s. Leaves out whatever is odd.

The SDK's `Accumulator` puts chunks together and notices when one is missing. Until a publish came whole, the one before
it is what is known.
"""

from typing import NamedTuple

from plughost_sdk import duplex, msgpack

WIRE_VERSION = 3  # of what is published; another one is shown as such, and not read
MOST_ROWS = 200_000  # calls of one publish: years of work
DAY = 10  # characters at the beginning of a timestamp: 2026-01-05
LONGEST_NAME = 200  # characters
LARGEST = 10**15  # calls or tokens of one row: whatever says more is not to be believed
INPUT = ("input_tokens", "cache_creation_tokens")
TOKENS = (*INPUT, "output_tokens", "reasoning_tokens", "cache_read_tokens")

EXPLANATIONS = {
    "empty": "nothing was published yet",
    "partial": "more is on its way",
    "complete": "up to date",
    "lost": "a part of it was lost; r asks for it again",
    "mismatch": f"its publisher speaks another version than {WIRE_VERSION}",
}


class Sum(NamedTuple):
    """Calls and tokens, added up."""

    calls: int
    input: int
    output: int
    cached: int

    @property
    def total(self):
        return self.input + self.output

    def __add__(self, other):
        return Sum(*map(sum, zip(self, other, strict=True)))

    def to_json(self):
        return {**self._asdict(), "total": self.total}


NOTHING = Sum(0, 0, 0, 0)


class Row(NamedTuple):
    """What one call of a model did for one project on one day."""

    day: str
    project: str
    model: str
    sum: Sum


class Ledger:
    """What is known of the usage: `rows`, and `state`, which is the accumulator's."""

    def __init__(self):
        self.rows = []
        self.odd_rows = 0
        self._chunks = duplex.Accumulator(WIRE_VERSION, msgpack.unpack)
        self._sums = {}  # what was added up already: a screen is drawn more often than anything is published

    @property
    def state(self):
        return self._chunks.state

    @property
    def explanation(self):
        return EXPLANATIONS[self.state]

    def receive(self, payload):
        """Take a chunk. Returns whether a publish came whole with it."""
        whole = self._chunks.receive(payload)
        if whole is None:
            return False
        given = [each for data in whole for each in _rows(data)][:MOST_ROWS]
        rows = [_row(each) for each in given]
        self.rows = [row for row in rows if row is not None]
        self.odd_rows = rows.count(None)
        self._sums = {}
        return True

    def total(self):
        return sum(self.by("day").values(), NOTHING)

    def by(self, column, **only):
        """Return the sums for each day, project or model: days in order, the others by size, largest first.

        With `project="shop"`, or another column, of its rows only.
        """
        asked = (column, *only.items())
        if asked not in self._sums:
            self._sums[asked] = self._add_up(column, only)
        return self._sums[asked]

    def _add_up(self, column, only):
        sums = {}
        for row in self.rows:
            if all(getattr(row, name) == value for name, value in only.items()):
                key = getattr(row, column)
                sums[key] = sums.get(key, NOTHING) + row.sum
        if column == "day":
            return dict(sorted(sums.items()))
        return dict(sorted(sums.items(), key=lambda item: (-item[1].total, item[0])))


def _rows(data):
    calls = data.get("calls") if isinstance(data, dict) else None
    return calls if isinstance(calls, list) else []


def _row(value):
    """Return the row of a `ProviderCall`, or None for what is none."""
    if not isinstance(value, dict):
        return None
    names = [value.get(key) for key in ("timestamp", "project", "model")]
    tokens = {key: value.get(key, 0) for key in TOKENS}
    if not all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in names):
        return None
    if not all(type(number) is int and 0 <= number <= LARGEST for number in tokens.values()):
        return None
    fresh, output = sum(tokens[key] for key in INPUT), tokens["output_tokens"] + tokens["reasoning_tokens"]
    day, project, model = names
    return Row(day[:DAY], project, model, Sum(1, fresh, output, tokens["cache_read_tokens"]))
