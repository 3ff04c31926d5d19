"""`plughost simulate` as its users meet it: a table, one JSON object, and usage errors that name the wrong word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plughost.supervision.restart import RestartPolicy

Run = Callable[..., Any]
EXAMPLE = "crash@0.5 crash@1 ok@120 crash@1"


def test_the_table_tells_time_state_and_what_happens(run: Run) -> None:
    ran = run("simulate", "--policy", "lazy", "--backoff", "1,4,16", EXAMPLE)
    assert (ran.status, ran.stderr) == (0, "")
    head, *rows = ran.stdout.splitlines()
    assert head.split() == ["time", "state", "what", "happens"]
    starts = [row.split()[0] for row in rows if "is started" in row]
    assert starts == ["0", "1.5", "6.5", "726.5"]
    assert "backoff" in rows[3]
    assert "spawning" in rows[-1]


def test_as_many_processes_are_started_in_the_table_as_are_counted_below_it(run: Run) -> None:
    words = ("simulate", "idle", "ask@700")  # the request asks for a process that has no word
    rows = run(*words).stdout.splitlines()
    assert sum("is started" in row for row in rows) == run(*words, "--json").json["started"]


def test_the_same_as_one_json_object_with_the_policy_it_is_about(run: Run) -> None:
    shown = run("simulate", "--json", *EXAMPLE.split()).json
    assert shown["ok"] is True
    default = RestartPolicy()
    assert shown["policy"]["backoff_s"] == list(default.backoff_s)
    assert shown["policy"]["failures_to_quarantine"] == default.failures_to_quarantine
    assert shown["policy"]["failure_window_s"] == default.failure_window_s
    assert shown["policy"]["stable_s"] == default.stable_s
    assert shown["policy"]["idle_reap_s"] == default.idle_reap_s
    assert (shown["state"], shown["started"], shown["unused"]) == ("spawning", 4, 0)
    moments = shown["timeline"]
    assert [row["at_s"] for row in moments if row["event"] == "started"] == [0, 1.5, 6.5, 726.5]
    assert set(moments[0]) == {"at_s", "state", "event", "what", "process", "attempt", "failures"}


def test_every_option_reaches_the_policy(run: Run) -> None:
    words = "--policy eager --backoff 0.1,0.2 --failures 5 --window 7 --stable 8 --idle-reap 0 --exit-zero-ok"
    shown = run("simulate", "--json", *words.split(), "--ask-after", "3", "2xexit0@1").json
    assert shown["policy"] == {
        "spawn": "eager",
        "backoff_s": [0.1, 0.2],
        "failure_window_s": 7,
        "failures_to_quarantine": 5,
        "stable_s": 8,
        "exit_zero_is_crash": False,
        "idle_reap_s": 0,
    }
    assert [row["at_s"] for row in shown["timeline"] if row["event"] == "started"] == [0, 4]


def test_times_are_shown_without_the_noise_of_their_sums(run: Run) -> None:
    shown = run("simulate", "--json", "--policy", "eager", "--backoff", "0.1,0.2", "3xcrash@0.1").json
    assert [row["at_s"] for row in shown["timeline"] if row["event"] == "failed"] == [0.1, 0.3, 0.6]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["crash@1 crsh@2"], "crsh@2"),
        (["crash@soon"], "crash@soon"),
        (["crash", "--backoff", "1,four"], "four"),
        (["crash", "--backoff", ""], "--backoff"),
        (["crash", "--backoff", "1,-4"], "-4"),
        (["crash", "--window", "nan"], "nan"),
        (["crash", "--idle-reap", "1e99"], "1e99"),
        (["crash", "--failures", "0"], "--failures"),
        (["crash", "--policy", "sometimes"], "sometimes"),
        (["reload@3"], "PATTERN"),
        ([], "PATTERN"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value) or "nothing",
)
@pytest.mark.thin(3)
def test_a_wrong_word_is_a_usage_error_that_names_it(run: Run, words: list[str], wrong: str) -> None:
    ran = run("simulate", *words)
    assert (ran.status, ran.stdout) == (2, "")
    assert wrong in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_wrong_word_is_json_for_programs(run: Run) -> None:
    ran = run("simulate", "--json", "crsh")
    assert ran.status == 2
    assert ran.json["ok"] is False
    assert "crsh" in ran.json["usage"]
