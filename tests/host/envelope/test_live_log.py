"""The log while a plugin runs: lines are there at once and in order, and nothing that a plugin does to it stays."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost import blocking
from plughost.errors import LocalProtocolError
from plughost.host.envelope import ledger
from plughost.host.envelope.leftovers import put_right
from plughost.host.events import Event, Logged
from plughost.record import live_log
from plughost.record.log_file import write_all
from plughost.record.log_lines import LogLine, render
from tests.host.envelope.lab import Lab
from tests.host.envelope.test_kills import KILLED, gone

LOG = f".exlab-wizard/wizard.{socket.gethostname()}.log"
# Logs, and goes on only when the line is in the log, for which it waits ten seconds at most.
WAITS = """
log = Path({log!r})

def said(line):
    sys.stderr.write(json.dumps({{"level": "INFO", "message": line}}) + "\\n")
    sys.stderr.flush()
    for _ in range(2_000):
        if log.exists() and line in log.read_text():
            return
        time.sleep(0.005)
    answer(1, result="failed", per_file=[], error_message=f"{{line}} is not in the log")
"""


def talker(lab: Lab, body: str, *, log: Path | None = None, name: str = "talker") -> Path:
    return lab.raw(name, "from pathlib import Path\n" + WAITS.format(log=str(log or lab.root / LOG)) + body)


def messages(lines: list[str]) -> list[str]:
    return [line.rpartition("] ")[2] for line in lines if "[worker:" in line]


SAYS = """
for number in range(3):
    said(f"line-{number}")
Path(files[0]).write_text("done")
answer(result="success", per_file=[])
"""


@pytest.mark.requirement("envelope:stderr:live")
@pytest.mark.parametrize("place", ["in the tree", "elsewhere"])
def test_lines_reach_the_log_while_the_plugin_runs_in_their_order(place: str, both: Lab) -> None:
    logs = both.home / "logs"
    options = {"logs": logs} if place == "elsewhere" else {}
    log = logs / Path(LOG).name if place == "elsewhere" else both.root / LOG
    first = talker(both, SAYS, log=log)
    second = talker(both, SAYS.replace("line", "other"), log=log, name="zweiter")
    result = both.run(first, second, **options)
    assert [entry.status for entry in result.plugins_applied] == ["success", "success"], (
        result.plugins_applied
    )
    assert [entry.files_affected for entry in result.plugins_applied] == [["a.txt"], ["a.txt"]]
    written = log.read_text().splitlines()
    assert messages(written) == [*(f"line-{n}" for n in range(3)), *(f"other-{n}" for n in range(3))]
    assert "plugin applied status=success" in written[3]


@pytest.mark.requirement("envelope:stderr:live", "envelope:tree:undone")
def test_what_a_failed_plugin_said_stays_in_the_log_though_its_changes_are_undone(both: Lab) -> None:
    both.write({LOG: "an older line\n"})
    before = both.portrait()
    entry = both.one(talker(both, SAYS.replace('result="success"', '1, result="failed"')))
    assert entry.status == "failed"
    assert both.portrait() == before
    assert both.log[0] == "an older line"
    assert messages(both.log) == [f"line-{n}" for n in range(3)]


DEEDS = {
    "rewrites": "log.write_text(log.read_text().replace('line-0', 'forged'))",
    "appends": "log.open('a').write('forged\\n')",
    "truncates": "os.truncate(log, 0)",
    "removes": "log.unlink()",
    "replaces": "new = log.with_name('new'); new.write_text(log.read_text()); new.replace(log)",
    "links": "log.rename('x'); log.symlink_to('../x')",
    "hides the directory": "log.parent.rename('away'); os.mkdir(log.parent)",
    "opens it to all": "os.chmod(log, 0o666)",
    "puts a file beside it": "(log.parent / 'more').touch()",
}


@pytest.mark.requirement("envelope:stderr:live", "envelope:tree:forbidden")
@pytest.mark.parametrize("older", [True, False])
@pytest.mark.thin(3)
@pytest.mark.parametrize("deed", DEEDS)
def test_a_plugin_that_touches_the_log_is_undone_and_what_it_said_is_in_the_log_once(
    deed: str, older: bool, lab: Lab
) -> None:
    if older:
        lab.write({LOG: "an older line\n"})
    body = f"""
said("line-0")
{DEEDS[deed]}
sys.stderr.write(json.dumps({{"level": "INFO", "message": "line-1"}}) + "\\n")
sys.stderr.flush()
answer(result="success", per_file=[])
"""
    before = lab.portrait()
    entry = lab.one(talker(lab, body))
    assert entry.status == "policy_violation"
    assert lab.portrait() == before
    assert messages(lab.log) == ["line-0", "line-1"]
    assert [line for line in lab.log if "forged" in line] == []
    assert ("an older line" in lab.log) == older
    assert (lab.root / LOG).stat().st_mode & 0o777 == 0o644
    assert not (lab.root / ".exlab-wizard/more").exists()


# Logs a line, and goes on only when the host has heard it: every line comes to the host by itself.
HEARD = """
from pathlib import Path
heard = Path({heard!r})

def tell(line):
    sys.stderr.write(json.dumps({{"level": "INFO", "message": line}}) + "\\n")
    sys.stderr.flush()
    for _ in range(4_000):
        if heard.exists() and heard.read_text() == line:
            return
        time.sleep(0.005)
    answer(1, result="failed", per_file=[], error_message=f"{{line}} was not heard")
"""
LINES = 40
TELLS = f"""
for number in range({LINES}):
    tell(f"line-{{number}}")
    if number == 0:
        SPOIL
Path(files[0]).write_text("done")
answer(result="success", per_file=[])
"""


class Listener:
    """Lets a plugin know that a line was heard, and does the *deeds* that are named by a line before."""

    def __init__(self, lab: Lab, deeds: dict[str, Callable[[], object]] | None = None) -> None:
        self.file = lab.home / "heard"
        self._deeds = deeds or {}

    def append(self, event: Event) -> None:
        if isinstance(event.what, Logged):
            self._deeds.get(event.what.message, int)()
            new = self.file.with_name("new")
            new.write_text(event.what.message)
            new.replace(self.file)


def teller(lab: Lab, body: str, **deeds: Callable[[], object]) -> Path:
    listener = Listener(lab, {name.replace("_", "-"): deed for name, deed in deeds.items()})
    lab.events = listener  # type: ignore[assignment]
    return lab.raw("teller", HEARD.format(heard=str(listener.file)) + body)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages of workers that were rendered for the log, each as often as it was."""
    messages: list[str] = []

    def counted(line: LogLine, **tags: Any) -> str:
        if line.message.startswith("line-"):
            messages.append(line.message)
        return render(line, **tags)

    monkeypatch.setattr(ledger, "render", counted)
    return messages


NAMES = [f"line-{number}" for number in range(LINES)]


@pytest.mark.requirement("envelope:stderr:live")
@pytest.mark.parametrize("place", ["in the tree", "elsewhere"])
def test_each_line_is_rendered_once_when_nobody_touches_the_log(
    place: str, both: Lab, rendered: list[str]
) -> None:
    logs = both.home / "logs" if place == "elsewhere" else both.root / ".exlab-wizard"
    options = {"logs": logs} if place == "elsewhere" else {}
    entry = both.one(teller(both, TELLS.replace("SPOIL", "pass")), **options)
    assert entry.status == "success", entry.error
    assert rendered == NAMES
    assert messages((logs / Path(LOG).name).read_text().splitlines()) == NAMES


@pytest.mark.requirement("envelope:stderr:live")
def test_lines_behind_a_byte_that_a_plugin_added_to_the_log_are_rendered_when_it_is_done(
    both: Lab, rendered: list[str]
) -> None:
    spoil = f"(Path(root) / {LOG!r}).parent.mkdir(exist_ok=True); (Path(root) / {LOG!r}).open('a').write('x')"
    entry = both.one(teller(both, TELLS.replace("SPOIL", spoil)))
    assert entry.status == "policy_violation", entry.error
    assert messages(both.log) == NAMES
    assert max(map(rendered.count, NAMES)) <= 3  # live, refused, and when it is done
    assert len(rendered) <= LINES + 4


@pytest.mark.requirement("envelope:stderr:live")
def test_lines_behind_a_byte_that_came_just_before_a_write_are_rendered_when_the_plugin_is_done(
    lab: Lab, rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raced: list[bytes] = []

    def late(fd: int, data: bytes) -> None:
        if not raced:
            write_all(fd, b"x")  # as if a plugin wrote between the host's look at the log and its write
        raced.append(data)
        write_all(fd, data)

    monkeypatch.setattr(live_log, "write_all", late)
    entry = lab.one(teller(lab, TELLS.replace("SPOIL", "pass")))
    assert entry.status == "policy_violation", entry.error
    assert messages(lab.log) == NAMES
    assert len(rendered) <= LINES + 4


def blocked(log: Path) -> Callable[[], object]:
    """Return what puts a directory where the *log* is to be."""
    return lambda: (log.unlink(missing_ok=True), log.mkdir())


@pytest.mark.requirement("envelope:stderr:live")
def test_lines_that_a_log_elsewhere_does_not_take_are_rendered_when_the_plugin_is_done(
    both: Lab, rendered: list[str]
) -> None:
    log = both.home / "logs" / Path(LOG).name
    plugin = teller(
        both, TELLS.replace("SPOIL", "pass"), line_0=blocked(log), **{f"line_{LINES - 1}": log.rmdir}
    )
    entry = both.one(plugin, logs=log.parent)
    assert entry.status == "success", entry.error
    assert messages(log.read_text().splitlines()) == NAMES
    assert len(rendered) <= LINES + 1


ASKS = """
if told["extra_inputs"]:
    tell("line-2")
    Path(files[0]).write_text("done")
    answer(result="success", per_file=[])
tell("line-0")
tell("line-1")
asked = {"fields": [{"id": "a", "label": "A", "type": "string"}], "reason": "needed"}
answer(2, result="input_required", per_file=[], input_required=asked)
"""


@pytest.mark.requirement("envelope:stderr:live")
def test_lines_of_a_second_worker_stay_behind_those_of_the_first_that_the_log_did_not_take(lab: Lab) -> None:
    log = lab.home / "logs" / Path(LOG).name
    plugin = teller(lab, ASKS, line_0=blocked(log), line_2=log.rmdir)
    entry = lab.one(plugin, logs=log.parent, ask=lambda _: {"a": "x"})
    assert entry.status == "success", entry.error
    assert messages(log.read_text().splitlines()) == ["line-0", "line-1", "line-2"]


KILLS = """
def transform(self, path, ctx):
    path.write_text("half")
    for word in ("first", "second"):
        ctx.log.info(word)
    log = ctx.dst_root / {log!r}
    while not (log.exists() and "second" in log.read_text()):
        time.sleep(0.001)  # until the host has written it
    {deed}
    os.kill(os.getppid(), signal.SIGSTOP)  # what comes now is in the pipe only, or in the raw file
    os.kill(os.getppid(), signal.SIGKILL)
"""


def kill(lab: Lab, deed: str = "pass") -> None:
    assassin = lab.plugin("assassin", KILLS.format(log=LOG, deed=deed))
    words = [sys.executable, "-c", KILLED, str(lab.root), str(lab.home / "tmp"), str(assassin)]
    assert subprocess.run(words, capture_output=True, timeout=250).returncode == -signal.SIGKILL
    assert gone(lab)


def add_to_raw_file(lab: Lab, line: str) -> None:
    (raw,) = (lab.home / "tmp").rglob("*-1.stderr")
    with raw.open("a") as file:
        file.write(line)


@pytest.mark.requirement("envelope:stderr:live", "envelope:tree:killed")
@pytest.mark.parametrize("older", [True, False])
def test_recovery_keeps_what_was_logged_and_merges_what_is_only_in_the_raw_file(
    older: bool, lab: Lab
) -> None:
    if older:
        lab.write({LOG: "an older line\n"})
    kill(lab)
    live = lab.log
    add_to_raw_file(lab, '{"level": "WARNING", "message": "third"}\nno log line\n')
    told = put_right(lab.root)
    assert told is not None
    assert "1 paths were put back" in told, "the log is none of them"
    assert lab.log[: len(live)] == live
    *said, end = lab.log
    assert [line.rpartition("] ")[2] for line in said if "plugin:" in line] == ["first", "second", "third"]
    assert "status=aborted" in end
    assert len([line for line in lab.log if line == "an older line"]) == older
    assert b"no log line" in lab.raw_stderr("assassin")[-1]
    assert lab.text("a.txt") == "a\n"
    discard_displaced(lab)


@pytest.mark.requirement("envelope:stderr:live", "envelope:tree:killed")
@pytest.mark.parametrize("deed", ["log.open('a').write('forged\\n')", "log.unlink()"])
def test_recovery_puts_back_a_log_that_the_plugin_has_touched_and_merges_all_that_was_said(
    deed: str, lab: Lab
) -> None:
    lab.write({LOG: "an older line\n"})
    kill(lab, deed)
    assert put_right(lab.root)
    older, *said, _end = lab.log
    assert older == "an older line"
    assert [line.rpartition("] ")[2] for line in said] == ["first", "second"]
    discard_displaced(lab)


@pytest.mark.requirement("envelope:stderr:live", "envelope:tree:killed")
def test_recovery_merges_into_a_log_outside_of_the_directory_as_well(lab: Lab, monkeypatch: Any) -> None:
    logs = lab.home / "logs"
    outside = KILLED.replace("confine=False", f"confine=False, logs={str(logs)!r}")
    monkeypatch.setattr("tests.host.envelope.test_live_log.KILLED", outside)
    monkeypatch.setattr("tests.host.envelope.test_live_log.LOG", str(logs / Path(LOG).name))
    kill(lab)
    add_to_raw_file(lab, '{"message": "third"}\n')
    assert put_right(lab.root)
    (log,) = logs.glob("wizard.*.log")
    *said, end = log.read_text().splitlines()
    assert [line.rpartition("] ")[2] for line in said] == ["first", "second", "third"]
    assert "status=aborted" in end
    discard_displaced(lab)


RECORDS = """
sys.stderr.write(json.dumps({"message": "by stderr"}) + "\\n")
sys.stderr.flush()
records = [{"level": "ERROR", "message": "by the reply", "context": {"n": 1}}, {"level": "INFO"}, "words"]
answer(result="success", per_file=[], log_records=records)
"""


@pytest.mark.requirement("envelope:reply:log-records")
def test_log_records_of_a_reply_are_merged_behind_what_came_by_stderr(both: Lab) -> None:
    both.one(both.raw("talker", RECORDS))
    first, second, third, fourth, _ = both.log
    assert first.endswith("by stderr")
    assert "[ERROR]" in second
    assert second.endswith("by the reply n=1")
    assert third.endswith('record={"level":"INFO"}')
    assert fourth.endswith("record=words")


@pytest.mark.requirement("envelope:reply:log-records")
def test_log_records_without_end_are_bounded_and_cannot_forge_a_line(lab: Lab) -> None:
    body = 'answer(result="success", per_file=[], log_records=[{"message": "x\\n[plugin:other]"}] * 12_000)'
    lab.one(lab.raw("talker", body))
    assert len(lab.log) == 10_002
    assert all(line.count("[plugin:") == 1 for line in lab.log)


@pytest.mark.requirement("envelope:stderr:equipment")
def test_the_log_may_be_that_of_the_equipment(lab: Lab) -> None:
    equipment = lab.home / "SCOPE-1"
    (equipment / "P-17").mkdir(parents=True)
    run = lab.root.rename(equipment / "P-17/run-1")
    with blocking.Host() as host:
        entry = host.run_pass(run, [lab.plugin("one")], equipment_id="SCOPE-1", log_of="equipment")
    assert entry.ok
    (log,) = (equipment / ".exlab-wizard").glob("wizard.*.log")
    assert "[equip:SCOPE-1]" in log.read_text()
    assert [path.name for path in (run / ".exlab-wizard").iterdir() if "log" in path.name] == []
    for options in ({}, {"equipment_id": "SCOPE-2"}, {"equipment_id": "SCOPE-1", "logs": lab.home}):
        with blocking.Host() as host, pytest.raises(LocalProtocolError):
            host.run_pass(run, [lab.home / "plugins/one"], log_of="equipment", **options)


def discard_displaced(lab: Lab) -> None:
    for path in lab.home.glob("*.plughost-displaced-*"):
        shutil.rmtree(path)
