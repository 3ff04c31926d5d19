"""Signals that end a pass, and what a person or a program is told of it: what was put back, and what is kept."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...host.events import PassInterrupted

BY_EXIT = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is a KeyboardInterrupt by itself


def raise_signals() -> None:
    """From now on the signals that end us raise: whoever sends one waits until the directory is put back."""
    for number in BY_EXIT:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
            signal.signal(number, _stop)


def ignore_signals() -> None:
    """Heed no more of them: we are about to end, and say so once."""
    for number in (signal.SIGINT, *BY_EXIT):
        signal.signal(number, signal.SIG_IGN)


def status(ended: BaseException) -> int | None:
    """Return the exit status if *ended* is the doing of a signal."""
    if isinstance(ended, KeyboardInterrupt):
        return 128 + signal.SIGINT
    known = [128 + number for number in BY_EXIT]
    return next((each for each in known if isinstance(ended, SystemExit) and ended.code == each), None)


def sentence(told: PassInterrupted | None, *, count: int) -> str:
    """Return what became of the directory. *told* is what the pass says of its end, *count* how many plugins it had.

    That is 0 as long as none was begun.
    """
    if told is None or not count:
        return "interrupted before any plugin was begun"
    hit = [each["plugin"] for each in told.plugins_applied if each.get("aborted")]
    kept = any(each["changes"] for each in told.plugins_applied)
    paths = f"{told.put_back} changed paths were put back" if told.put_back else "no path had to be put back"
    at_work = f"interrupted while {', '.join(hit)} was at work" if hit else "interrupted between plugins"
    if len(told.plugins_applied) == count and not hit:
        return "interrupted when all plugins were done"
    return f"{at_work}: {paths}" + ("; what the plugins before did is kept" if kept else "")


def to_dict(told: PassInterrupted | None) -> dict[str, Any]:
    """Return the same for a program."""
    found: dict[str, Any] = {"ok": False, "problem": "interrupted", "aborted": True}
    if told is not None:
        entries = list(told.plugins_applied)
        return {**found, "plugins_applied": entries, "run": told.run, "put_back": told.put_back}
    return {**found, "plugins_applied": [], "run": None, "put_back": 0}


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
