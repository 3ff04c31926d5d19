"""The yardstick: what starting Python in this environment costs, to the first byte and to the end."""

from __future__ import annotations

from ..contender import Contender
from ..samples import Source
from ..section import Base, Row

MODULE = "bench.drivers.python_start"
FIRST_BYTE = Source("python-byte", "byte")
PASS = Source("python-pass", "gone")
TWO_AT_ONCE = Source("python-two", "gone")

CONTENDERS = (
    Contender("python-byte", MODULE, "byte", times=5),
    Contender("python-pass", MODULE, "pass", times=5),
)
TWO = Contender("python-two", MODULE, "two", times=5)
BASES = (Base("× byte", FIRST_BYTE), Base("× pass", PASS))
ROWS = (
    Row("python -c os.write: to its first byte", FIRST_BYTE),
    Row("python -c pass: to its exit", PASS),
)
