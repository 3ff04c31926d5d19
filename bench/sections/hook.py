"""Providers of the hook contract: what a message costs, big ones, a provider's start, and twenty providers at once."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from plughost import ManifestError
from plughost.manifest import binding
from plughost.process import command

from ..contender import Contender
from ..driver import ROOT
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target
from .framing import FRESH_MEMORY

KEY = "hook"
ROUNDS = "bench.drivers.hook_rounds"
SIZES = "bench.drivers.hook_sizes"
START = "bench.drivers.hook_start"
PARALLEL = "bench.drivers.hook_parallel"

WAYS = {"hand": "by hand", "blocking": "blocking host", "asyncio": "asyncio host"}
LOADS = {
    "github": "GitHub provider, in Python",
    "gitlab": "GitLab provider, in Rust",
    "empty": "empty messages",
}
MEGABYTES = (1, 3, 9)
MANY = 20  # providers
SPANS = {"worked": "at work", "gone": "from the call"}  # to the return; at work: from the last handshake

GITHUB = "src/plughost/bundled/hook/github-actions"  # relative to the repository, where drivers are started
GITLAB = "examples/hook/gitlab-rust"
PROGRAMS = {"github-actions": GITHUB, "gitlab-rust": GITLAB}

OVERHEAD = 1.3  # times the loop by hand
GROWTH = 1.3  # times a megabyte of the smallest message: linear, with room for caches that no longer hold it
ADDED_MS = 2.0
TOGETHER = 1.2  # times the slowest alone


def messages() -> Section:
    return Section(
        key=KEY,
        title="A round of requests to a provider that stays, on one core",
        unit="µs",
        contenders=tuple(
            Contender(_round(way, load).contender, ROUNDS, f"{way}:{load}", missing=_absence(load))
            for load in LOADS
            for way in WAYS
        ),
        rows=tuple(_message(way, load) for load in LOADS for way in WAYS),
        bases=(Base("× by hand", _round("hand", "github")),),
        notes=(
            "By hand: struct, two pipes and the same protobuf classes; no deadline, no limit, no check of any kind.",
            "GitHub: Generate of the sample pipeline. It is what the target is for: a provider that does its work.",
            "GitLab: Plan and Generate of it. It is done in no time, so that what the host adds is seen.",
            "Empty: Plan and Generate with nothing in them, answered from memory: nothing but what the host adds.",
        ),
    )


def sizes() -> Section:
    return Section(
        key=KEY,
        title="A big request, and a reply as long",
        unit="ms per MB",
        contenders=tuple(
            Contender(
                _size(way, size).contender,
                SIZES,
                f"{way}:{size}",
                environment=FRESH_MEMORY,
                missing=_absence("empty"),
            )
            for way in WAYS
            for size in MEGABYTES
        ),
        rows=tuple(_big(way, size) for way in WAYS for size in MEGABYTES),
        bases=(Base("× by hand", _size("hand", 1)), Base("× 1 MB", _size("hand", 1))),
        notes=(
            "Encoded, sent, received and decoded, in parts of a kilobyte. The provider answers from memory.",
            "Linear means that the last column stays near 1; quadratic, that it reaches 9.",
            "Big buffers are fresh memory for everybody; latest.json has the page faults.",
        ),
    )


def start() -> Section:
    return Section(
        key=KEY,
        title="A provider's start and handshake, by hand and under plughost",
        unit="ms",
        contenders=tuple(
            Contender(
                _start(way, name).contender,
                START,
                f"{way}:{name}",
                tuple(PROGRAMS.values()),
                missing=_problem(directory),
            )
            for name, directory in PROGRAMS.items()
            for way in WAYS
        ),
        rows=tuple(_shaken(way, name) for name in PROGRAMS for way in WAYS),
        bases=(Base("× by hand", _start("hand", "github-actions")),),
        notes=("From the call to the decoded introduction, on a host that is there.",),
    )


def parallel() -> Section:
    return Section(
        key=KEY,
        title=f"A whole run over {MANY} providers that take 200 ms each",
        unit="ms",
        contenders=tuple(
            Contender(
                _run(way, count).contender, PARALLEL, f"{way}:{count}", times=1, missing=_absence("empty")
            )
            for way in WAYS
            for count in (1, MANY)
        ),
        rows=tuple(
            _together(way, count, measure) for measure in SPANS for way in WAYS for count in (1, MANY)
        ),
        bases=(Base("× by hand", _run("hand", 1)), Base("× alone", _run("hand", 1))),
        notes=(
            "They wait without a processor. At work: from the last handshake until all have gone, files combined.",
            "From the call: with their starts, which need a processor each; they are small Perl programs.",
        ),
    )


def _message(way: str, load: str) -> Row:
    by_hand = _round("hand", load)
    judged = load == "github" and way != "hand"
    target = Target(Kind.TIMES, OVERHEAD, "the loop by hand", by_hand) if judged else None
    label = f"{LOADS[load]}: {WAYS[way]}"
    return Row(label, _round(way, load), target, ours=way != "hand", bases=(Base("× by hand", by_hand),))


def _big(way: str, size: int) -> Row:
    smallest = _size(way, MEGABYTES[0])
    largest = way != "hand" and size == MEGABYTES[-1]
    target = Target(Kind.TIMES, GROWTH, "a smaller one", smallest) if largest else None
    return Row(
        f"{WAYS[way]}, {size} MB",
        _size(way, size),
        target,
        ours=way != "hand",
        bases=(Base("× by hand", _size("hand", size)), Base("× 1 MB", smallest)),
    )


def _shaken(way: str, name: str) -> Row:
    by_hand = _start("hand", name)
    compiled = name == "gitlab-rust" and way != "hand"
    target = Target(Kind.OVER, ADDED_MS, "its own start", by_hand) if compiled else None
    label = LOADS[name.partition("-")[0]]
    bases = (Base("× by hand", by_hand),)
    return Row(f"{label}: {WAYS[way]}", _start(way, name), target, ours=way != "hand", bases=bases)


def _together(way: str, count: int, measure: str) -> Row:
    alone = _run(way, 1, measure)
    judged = way != "hand" and count > 1 and measure == "worked"
    target = Target(Kind.TIMES, TOGETHER, "one alone", alone) if judged else None
    return Row(
        f"{WAYS[way]}, {count} provider{'s' * (count > 1)}, {SPANS[measure]}",
        _run(way, count, measure),
        target,
        ours=way != "hand",
        bases=(Base("× by hand", _run("hand", count, measure)), Base("× alone", alone)),
    )


def _round(way: str, load: str) -> Source:
    return Source(f"hook-{way}-{load}", "round_us")


def _size(way: str, size: int) -> Source:
    return Source(f"hook-{way}-{size}mb", "ms_per_mb")


def _start(way: str, name: str) -> Source:
    return Source(f"hook-{way}-start-{name}", "handshake")


def _run(way: str, count: int, measure: str = "worked") -> Source:
    return Source(f"hook-{way}-run-{count}", measure)


def _absence(load: str) -> str:
    """Say why *load* cannot be measured here, or nothing."""
    match load:
        case "github":
            return _problem(GITHUB)
        case "gitlab":
            return _problem(GITLAB)
        case _:  # what answers from memory
            return "" if shutil.which("perl") else "there is no perl"


@cache
def _problem(directory: str) -> str:
    """Say why the provider cannot be started here, or nothing."""
    try:
        command.resolve(binding.read(ROOT / directory), os.environ.get("PATH", os.defpath))
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        return f"there is no {missing}: examples/build builds what a compiler is there for"
    except (ManifestError, OSError) as error:
        return str(error)
    return ""
