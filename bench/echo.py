"""What every call to a process that stays carries there and back, so that nobody is measured on less."""

from __future__ import annotations

PAYLOAD = bytes(range(33, 127)) + b"123456"  # 100 bytes, each of them text for those who carry nothing else
TEXT = PAYLOAD.decode()
IN_FLIGHT = 64  # calls at once, where they are pipelined


def check(answer: object) -> None:
    """Raise ValueError unless *answer* is what was sent."""
    if answer not in (PAYLOAD, TEXT):
        raise ValueError(f"the work was not done: {answer!r:.100}")
