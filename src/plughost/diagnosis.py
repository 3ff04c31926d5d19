"""Evidence to advice: the next step that fits what was seen, or the table's usual one. Finds nothing out itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .autopsy import CALLERS_LIMIT, ExitStatus, WireFrame
from .failures import EXPLANATIONS, FailureCode, Stage

FRAMED = (
    "duplex",
    "hook",
)  # contracts whose messages are frames of so many bytes; those of the others are lines


@dataclass(frozen=True, slots=True)
class Findings:
    """What a rule may look at."""

    code: FailureCode
    stage: Stage
    plugin: str
    command: tuple[str, ...]
    exit: ExitStatus | None
    rung: str | None
    stderr: str
    last_in: str  # the beginning of the last frame the plugin sent
    limit: str | None
    contract: str = ""
    when: str = ""  # "before it had answered plan"


_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def _missing_module(found: Findings) -> str | None:
    missing = _NO_MODULE.search(found.stderr)
    if missing is None:
        return None
    package = missing[1].split(".")[0].replace("plughost_sdk", "plughost-sdk")
    return (
        f"The plugin's Python lacks {missing[1]!r}. Install {package} there, or name the interpreter of "
        f"the right environment in `command`."
    )


def _speaks_content_length(found: Findings) -> str | None:
    if found.contract == "duplex" or not found.last_in.lower().startswith("content-length:"):
        return None  # that one wants it
    return (
        "It frames its messages with Content-Length, as language servers do; this contract wants plain lines."
    )


def _prints_to_stdout(found: Findings) -> str | None:
    wrong = found.code is FailureCode.MALFORMED_RESPONSE and found.last_in
    if not wrong or found.last_in.startswith(("{", "[")) or found.limit is not None:
        return None
    return (
        f"It wrote {found.last_in[:60]!r} to stdout, which carries protocol lines only. "
        f"Print to stderr; plugins made with plughost-sdk do so by themselves from `plugin.run()` on."
    )


def _out_of_memory(found: Findings) -> str | None:
    if "MemoryError" in found.stderr or "out of memory" in found.stderr.lower():
        where = "`limits.memory_mb` in the binding"
        if found.contract == "envelope":
            where = "`isolation.memory_mb` in its manifest.yml"
        return f"It ran out of memory: raise {where}, or let it work in smaller pieces."
    if found.exit is not None and found.exit.signal_name == "SIGKILL" and found.rung is None:
        return "Something outside killed it, most often the kernel when memory runs out: `dmesg` tells."
    return None


def _out_of_cpu_time(found: Findings) -> str | None:
    if found.exit is None or found.exit.signal_name != "SIGXCPU":
        return None
    if found.contract == "envelope":
        return "Raise `isolation.timeout_seconds` in its manifest.yml: its CPU time is measured by that."
    return "Raise `limits.cpu_s` in the binding if the work needs so much."


def _buffers_its_reply(found: Findings) -> str | None:
    if found.code is not FailureCode.TIMEOUT or found.stage is not Stage.HANDSHAKE or found.last_in:
        return None
    if found.contract in FRAMED:
        return (
            "It wrote nothing at all. Does it flush stdout after each frame, and read no more than the length that "
            "a frame's header says? `plughost doctor` tries it out."
        )
    return (
        "It wrote nothing at all. Does it flush stdout after each line, and read its input line by line? "
        "`plughost doctor` tries it out."
    )


def _is_another_message(found: Findings) -> str | None:
    if found.code is not FailureCode.MALFORMED_RESPONSE or found.limit is not None:
        return None
    if not found.last_in.startswith(("{", "[")):
        return None
    return (
        "It wrote JSON, but not the message that was due: the error names what is wrong with it. "
        f"`plughost check {found.plugin or 'PLUGIN'}` goes through all that the contract asks."
    )


def _had_too_little_time(found: Findings) -> str | None:
    if found.code is not FailureCode.TIMEOUT or found.limit != CALLERS_LIMIT:
        return None
    return (
        "Give the call more time, by `timeout=` or `--timeout`, if it needs longer; "
        "its stderr may tell where it stopped."
    )


def _missed_another_limit(found: Findings) -> str | None:
    if found.code is not FailureCode.TIMEOUT or found.limit in (None, "limits.timeout_s"):
        return None
    return f"Raise `{found.limit}` if it needs longer; its stderr may tell where it stopped."


def _may_know_generate_alone(found: Findings) -> str | None:
    if found.contract != "hook" or not found.when.endswith("answered plan"):
        return None
    return (
        "Its stderr may tell why. A provider that knows Generate alone is asked for that by "
        '`[hook] phases = ["generate"]` in its binding, or by `--phases generate`.'
    )


_RULES: tuple[Callable[[Findings], str | None], ...] = (
    _missing_module,
    _speaks_content_length,
    _out_of_memory,
    _out_of_cpu_time,
    _prints_to_stdout,
    _is_another_message,
    _buffers_its_reply,
    _had_too_little_time,
    _may_know_generate_alone,
    _missed_another_limit,
)


def advise(found: Findings) -> str:
    """Return the next step for the person who reads about this failure."""
    for rule in _RULES:
        advice = rule(found)
        if advice is not None:
            return advice
    usual = EXPLANATIONS[found.code].hint
    return usual.format(plugin=found.plugin or "PLUGIN", command=" ".join(found.command))


def last_received(frames: tuple[WireFrame, ...]) -> str:
    return next((frame.head for frame in reversed(frames) if frame.direction == "in"), "")
