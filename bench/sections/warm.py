"""A warm spare: how soon a call has a process that has shaken hands, and what the call then takes."""

from __future__ import annotations

from ..contender import Contender
from ..samples import Source
from ..section import Row, Section
from ..target import Kind, Target
from .python_start import BASES, CONTENDERS, FIRST_BYTE

MODULE = "bench.drivers.warm_spare"
HOSTS = ("asyncio", "blocking")

_TAKEN = Target(Kind.TIMES, 0.05, "python's first byte", FIRST_BYTE)


def spare() -> Section:
    return Section(
        key="warm",
        title="A call to a warm spare",
        unit="ms",
        contenders=(*CONTENDERS, *(Contender(f"warm-{host}", MODULE, host) for host in HOSTS)),
        rows=tuple(row for host in HOSTS for row in _rows(host)),
        bases=BASES,
        notes=(
            "Handed over: to a process that has shaken hands.",
            "The next spare is started during the call, as in real use, and shares the machine with it.",
        ),
        drawn=True,
    )


def _rows(host: str) -> list[Row]:
    key = f"warm-{host}"
    return [
        Row(f"{host} host: request handed over", Source(key, "taken"), _TAKEN, ours=True),
        Row(f"{host} host: answered", Source(key, "answered"), ours=True),
        Row(f"{host} host: returned", Source(key, "gone"), ours=True),
    ]
