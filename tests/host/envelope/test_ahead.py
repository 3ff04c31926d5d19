"""The first plugin's worker is started while its variables are validated, and told if it will be given files."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from plughost.host.envelope.head_start import used_s
from tests.host.envelope.lab import Lab

AHEAD = "--ahead"
TICK_MS = 10  # the kernel counts the time of a process that is running so often at least


def told(lab: Lab) -> list[bool]:
    """Return of each worker that was to transform, in the order they were started, whether it was told."""
    commands = [event.what.command for event in lab.events if event.name == "spawned"]
    return [AHEAD in command for command in commands if "validate" not in command]


@pytest.mark.parametrize("confine", [None, False])
def test_a_worker_that_will_be_given_files_is_told_so_at_its_start(confine: bool | None, both: Lab) -> None:
    assert both.one(both.plugin("p"), confine=confine).status == "success"
    assert told(both) == [True]


@pytest.mark.parametrize(
    ("extension", "options"),
    [(".none", {}), (".txt", {"files": ["b.csv"]}), (".dir", {})],
    ids=["there is none", "it is not among those chosen", "it is a directory"],
)
def test_a_worker_that_will_be_given_no_file_is_not_told(
    extension: str, options: dict[str, Any], both: Lab
) -> None:
    both.write({"b.csv": "1,2\n", "c.dir/d": ""})
    assert both.one(both.plugin("p", extensions=[extension]), **options).status == "skipped"
    assert told(both) == [False]


def test_a_worker_that_is_started_in_its_turn_is_not_told(lab: Lab) -> None:
    asks = """
    def transform(self, path, ctx):
        if not ctx.extra_inputs:
            raise PluginInputRequired([field("x", "X")], "why not")
    """
    plugins = lab.plugin("a", asks), lab.plugin("b"), lab.raw("c", "answer(result='success', per_file=[])")
    lab.run(*plugins, ask=lambda question: {"x": "1"})
    assert told(lab) == [True, False, False, False]


def test_a_worker_of_the_plugins_own_is_neither_started_ahead_nor_told(lab: Lab) -> None:
    lab.run(lab.raw("own", "answer(result='success', per_file=[])"))
    assert told(lab) == [False]
    names = [event.name for event in lab.events if event.name in ("spawned", "exited")]
    assert names == ["spawned", "exited"] * 2


def test_workers_that_run_at_once_are_not_started_ahead(lab: Lab) -> None:
    lab.write({"b.csv": "1,2\n"})
    lab.run(lab.plugin("a"), lab.plugin("b", extensions=[".csv"]), jobs=2)
    assert told(lab) == [False, False]


@pytest.mark.requirement("envelope:record:truth")
def test_a_worker_that_was_started_ahead_took_no_less_time_than_it_used(both: Lab) -> None:
    cost = both.one(both.plugin("p")).isolation
    assert cost.cpu_ms > 0
    assert cost.duration_ms + TICK_MS >= cost.cpu_ms


def test_nobody_can_tell_what_a_process_has_used_that_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert used_s(child.pid) == 0.0
    assert used_s(os.getpid()) > 0.0
