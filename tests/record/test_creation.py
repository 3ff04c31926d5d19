"""The record of a directory: added to and never lost, whoever else writes and whoever is killed."""

import fcntl
import json
import os
import random
import signal
import stat
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from plughost.errors import TreeError
from plughost.record import creation
from plughost.record.creation import Record

pytestmark = pytest.mark.usefixtures("leak_check")

WRITERS, ENTRIES_EACH, KILLS = 8, 20, 30

APPEND_MANY = """
import sys
from pathlib import Path
from plughost.record.creation import Record
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for at in range(count):
    Record(path).append([{"id": f"{name}-{at}", "plugin": name}])
    print(at, flush=True)
"""
HOLD_LOCK = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / ".exlab-wizard" / "creation.json"


@pytest.fixture
def record(path):
    path.parent.mkdir(parents=True)
    return Record(path)


def entry(id, **keys):
    return {"id": id, "plugin": "p", **keys}


def child(program, *arguments, **options):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


def ids(path):
    return [each["id"] for each in json.loads(path.read_text())["plugins_applied"]]


# Beginning


def test_a_missing_record_is_empty_to_read(path, record):
    assert record.read() == {}
    path.parent.rmdir()
    assert record.read() == {}
    assert not path.parent.exists()


def test_the_first_entry_begins_a_record_with_what_the_caller_says_about_it(path, record):
    header = {"run_kind": "test", "template": {"name": "t", "source_path": "/t"}, "created_by": "ada"}
    record.append([entry("a")], header=header)
    document = json.loads(path.read_text())
    assert document == record.read()
    assert datetime.fromisoformat(document.pop("created_at")).utcoffset().total_seconds() == 0
    assert document == {
        "schema_version": "1.8",
        "level": "run",
        "run_kind": "test",
        "lims_project": {"uid": "", "short_id": "", "name_at_creation": ""},
        "template": {"name": "t", "version": "", "source_path": "/t"},
        "variables": {},
        "plugins_applied": [entry("a")],
        "paths": {"local": str(path.parent.parent), "nas": ""},
        "created_by": "ada",
    }


def test_a_record_can_be_begun_without_entries(path, record):
    record.append([], header={"level": "project"})
    assert record.read()["level"] == "project"
    assert record.read()["plugins_applied"] == []


def test_the_header_says_nothing_about_a_record_that_is_there(record):
    record.append([entry("a")], header={"run_kind": "test"})
    record.append([entry("b")], header={"run_kind": "other", "new": 1})
    assert record.read()["run_kind"] == "test"
    assert "new" not in record.read()


def test_the_directory_of_the_record_is_made_and_open_to_readers(path):
    path.parent.parent.mkdir()
    umask = os.umask(0o022)
    try:
        Record(path).append([entry("a")])
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


# Adding


def test_all_that_is_not_ours_stays_as_it_is_and_where_it_is(path, record):
    before = {
        "zeta": [1, 2.5, None, {"b": 1, "a": 2}],
        "schema_version": "1.3",
        "plugins_applied": [{"plugin": "old", "odd": {"y": 1, "x": 2}}, "not even an object"],
        "alpha": {"ü": "€", "big": 2**70},
    }
    path.write_text(json.dumps(before))
    record.append([entry("a")])
    after = json.loads(path.read_text())
    before["plugins_applied"].append(entry("a"))
    assert json.dumps(after) == json.dumps(before)


def test_a_record_without_a_list_of_plugins_gets_one(path, record):
    path.write_text('{"a": 1}')
    record.append([entry("a")])
    assert record.read() == {"a": 1, "plugins_applied": [entry("a")]}


def test_an_entry_that_is_there_already_is_replaced_in_its_place(path, record):
    record.append([entry("a"), entry("b", status="failed"), entry("c")])
    record.append([entry("b", status="success"), entry("d"), entry("d", twice=True)])
    assert ids(path) == ["a", "b", "c", "d"]
    assert record.read()["plugins_applied"][1] == entry("b", status="success")
    assert record.read()["plugins_applied"][3] == entry("d", twice=True)


@pytest.mark.parametrize(("text", "written"), [("\udcff", "\\xff"), ("\ud800", "\\ud800"), ("ä\n", "ä\n")])
def test_names_of_any_bytes_are_written_as_text_that_every_reader_takes(text, written, path, record):
    record.append([entry("a", files=[text], more={text: 1})])
    path.read_bytes().decode()
    assert record.read()["plugins_applied"] == [entry("a", files=[written], more={written: 1})]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_of_the_record_is_kept(mode, path, record):
    record.append([entry("a")])
    path.chmod(mode)
    record.append([entry("b")])
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_only_the_record_and_its_lock_are_left_in_the_directory(path, record):
    for at in range(3):
        record.append([entry(str(at))])
    assert {each.name for each in path.parent.iterdir()} == {"creation.json", "creation.json.lock"}


def test_what_a_killed_writer_left_is_removed_and_nothing_else(path, record):
    (path.parent / f".creation.json.99-abcd{creation.LEFTOVER}").write_text("{")
    (path.parent / f".creation.json.d{creation.LEFTOVER}").mkdir()
    (path.parent / ".creation.json.bak").write_text("mine")
    record.append([entry("a")])
    kept = {
        "creation.json",
        "creation.json.lock",
        ".creation.json.bak",
        f".creation.json.d{creation.LEFTOVER}",
    }
    assert {each.name for each in path.parent.iterdir()} == kept


def test_a_failure_while_writing_leaves_the_old_record_and_no_temporary_file(path, record, monkeypatch):
    record.append([entry("a")])
    before = path.read_bytes()

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(creation.os, "fsync", full)
    with pytest.raises(TreeError):
        record.append([entry("b")])
    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} == {"creation.json", "creation.json.lock"}


# Refusing


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"{} {}",
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"plugins_applied": {}}',
        b'{"plugins_applied": null}',
        b'{"schema_version": "2.0"}',
        b'{"schema_version": "10.1"}',
        b'{"schema_version": null}',
        b'{"schema_version": 2}',
    ],
)
def test_what_is_no_record_of_ours_is_refused_and_left_alone(data, path, record):
    path.write_bytes(data)
    for use in (record.read, lambda: record.append([entry("a")])):
        with pytest.raises(TreeError) as caught:
            use()
        assert caught.value.path == str(path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_record_is_read_up_to_its_limit(over, path, record, monkeypatch):
    monkeypatch.setattr(creation, "SIZE_LIMIT", 1000)
    path.write_bytes(b"{}".ljust(1000 + over))
    if over > 0:
        with pytest.raises(TreeError):
            record.read()
    else:
        assert record.read() == {}


def test_a_record_is_not_written_past_the_limit_up_to_which_it_can_be_read(path, record, monkeypatch):
    monkeypatch.setattr(creation, "SIZE_LIMIT", 1000)
    record.append([entry("a")])
    before = path.read_bytes()
    with pytest.raises(TreeError):
        record.append([entry("b", text="x" * 1000)])
    assert path.read_bytes() == before


def test_an_entry_that_there_is_no_room_for_is_written_in_brief(path, record, monkeypatch):
    monkeypatch.setattr(creation, "SIZE_LIMIT", 1000)
    record.append([entry("a", files_affected=["x" * 1000])])
    (written,) = record.read()["plugins_applied"]
    assert written["files_affected"] == []
    assert written["totals"]["files_affected"] == 1


def test_what_json_cannot_say_is_refused(path, record):
    with pytest.raises(TreeError):
        record.append([entry("a", value=object())])
    assert not path.exists()


@pytest.mark.parametrize("name", ["creation.json", "creation.json.lock"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_the_place_of_a_file_is_refused_and_its_target_not_touched(
    name, there, tmp_path, path, record
):
    target = tmp_path / "outside.json"
    if there:
        target.write_text("{}")
    (path.parent / name).symlink_to(target)
    with pytest.raises(TreeError) as caught:
        record.append([entry("a")])
    assert caught.value.path == str(path.parent / name)
    assert target.exists() == there
    assert not there or target.read_text() == "{}"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_the_place_of_the_directory_is_refused(there, tmp_path, path):
    path.parent.parent.mkdir()
    target = tmp_path / "outside"
    if there:
        target.mkdir()
    path.parent.symlink_to(target)
    with pytest.raises(TreeError) as caught:
        Record(path).append([entry("a")])
    assert caught.value.path == str(path.parent)
    assert not there or not list(target.iterdir())
    with pytest.raises(TreeError):
        Record(path).read()


@pytest.mark.parametrize("name", ["creation.json", "creation.json.lock"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_regular_file_is_refused_without_waiting(name, make, path, record):
    make(path.parent / name)
    with pytest.raises(TreeError):
        record.append([entry("a")])


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    with pytest.raises(TreeError):
        Record(tmp_path / "missing" / "too" / "creation.json").append([entry("a")])
    (tmp_path / "file").write_text("")
    with pytest.raises(TreeError):
        Record(tmp_path / "file" / "creation.json").append([entry("a")])


# Looking first


def check(path, room=0, *, make=False):
    Record(path).check(room=room, make=make)


def test_to_look_makes_nothing_unless_it_is_told_to(path):
    path.parent.parent.mkdir()
    check(path)
    assert not path.parent.exists()
    check(path, make=True)
    assert [each.name for each in path.parent.iterdir()] == ["creation.json.lock"]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_record_must_have_as_much_room_left_as_is_asked_for(over, path, record, monkeypatch):
    monkeypatch.setattr(creation, "SIZE_LIMIT", 1000)
    path.write_bytes(b"{}".ljust(900 + over))
    if over > 0:
        with pytest.raises(TreeError) as caught:
            check(path, 100)
        assert caught.value.path == str(path)
    else:
        check(path, 100)


def test_a_lock_that_another_holds_is_no_reason_to_refuse_beforehand(path, record):
    with child(HOLD_LOCK, f"{path}.lock") as holder:
        assert holder.stdout.readline() == "held\n"
        check(path)
        holder.communicate(timeout=250)


def test_a_filesystem_that_takes_no_file_is_found_out_beforehand():
    with pytest.raises(TreeError):
        check(Path("/proc/creation.json"), make=True)


@pytest.mark.parametrize("spoil", ["directory", "above"])
def test_a_directory_that_may_not_be_written_is_found_out_beforehand(spoil, ordinary):
    path = ordinary / "run/.exlab-wizard/creation.json"
    path.parent.mkdir(parents=True)
    if spoil == "above":
        path.parent.rmdir()
    locked = path.parent if spoil == "directory" else path.parent.parent
    locked.chmod(0o555)
    with pytest.raises(TreeError) as caught:
        check(path)
    assert caught.value.path == str(locked)


def test_a_lock_that_may_only_be_read_is_taken_all_the_same(ordinary):
    path = ordinary / "creation.json"
    (ordinary / "creation.json.lock").touch(mode=0o444)
    check(path)
    Record(path).append([entry("a")])
    assert ids(path) == ["a"]


def test_a_lock_that_cannot_be_opened_is_named_beforehand_and_afterwards(ordinary):
    path = ordinary / "creation.json"
    (ordinary / "creation.json.lock").touch(mode=0)
    for use in (lambda: check(path), lambda: Record(path).append([entry("a")])):
        with pytest.raises(TreeError) as caught:
            use()
        assert caught.value.path == f"{path}.lock"


# Several writers


def test_writers_at_the_same_time_lose_nothing(path, record):
    writers = [child(APPEND_MANY, path, f"w{at}", ENTRIES_EACH) for at in range(WRITERS)]
    for writer in writers:
        writer.communicate(timeout=250)
        assert writer.returncode == 0
    assert sorted(ids(path)) == sorted(
        f"w{at}-{each}" for at in range(WRITERS) for each in range(ENTRIES_EACH)
    )


def test_a_lock_that_another_program_holds_is_waited_for_only_so_long(path, record):
    with child(HOLD_LOCK, f"{path}.lock") as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TreeError) as caught:
            Record(path, lock_timeout_s=0.05).append([entry("a")])
        assert caught.value.path == f"{path}.lock"
        assert not path.exists()
        holder.communicate(timeout=250)
    record.append([entry("a")])
    assert ids(path) == ["a"]


def test_a_writer_keeps_other_lockers_out_while_it_writes(path, record, monkeypatch):
    refused = []

    def try_lock(fd):
        probe = child(HOLD_LOCK, f"{path}.lock", stderr=subprocess.DEVNULL)
        refused.append("held" not in probe.communicate(timeout=250)[0])

    monkeypatch.setattr(creation.os, "fsync", try_lock)
    record.append([entry("a")])
    assert refused == [True, True]


def test_a_lock_file_that_its_holder_removed_excludes_nobody_by_mistake(path, record, monkeypatch):
    """Some lockers unlink the file when they are done: whoever waited on it holds a lock nobody else sees."""
    locked, real = [], fcntl.flock

    def flock(fd, operation):
        real(fd, operation)
        if operation & fcntl.LOCK_EX and not locked:
            os.unlink(f"{path}.lock")
        if operation & fcntl.LOCK_EX:
            locked.append(os.fstat(fd).st_nlink)

    monkeypatch.setattr(fcntl, "flock", flock)
    record.append([entry("a")])
    assert locked == [0, 1]
    assert ids(path) == ["a"]


@pytest.mark.long
def test_a_writer_killed_at_any_instant_leaves_a_whole_record_and_the_next_one_goes_on(path, record):
    dice = random.Random(7)
    record.append([entry("first", text="x" * 100_000)])
    for at in range(KILLS):
        with child(APPEND_MANY, path, f"k{at}", 1_000_000) as writer:
            for _ in range(dice.randint(1, 4)):
                written = int(writer.stdout.readline())
            for _ in range(
                dice.randint(0, 100_000)
            ):  # a part of one more write, measured in work, not in time
                pass
            writer.send_signal(signal.SIGKILL)
        found = ids(path)
        assert found[0] == "first"
        assert f"k{at}-{written}" in found
        record.append([entry(f"after-{at}")])
        assert ids(path) == [*found, f"after-{at}"]
        names = {each.name for each in path.parent.iterdir()}
        assert names == {"creation.json", "creation.json.lock"}


def test_a_writer_killed_before_the_rename_leaves_the_old_record_and_what_it_left_is_swept(path, record):
    record.append([entry("a")])
    program = (
        "import os, signal\nfrom plughost.record import creation\n"
        "creation.os.replace = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n" + APPEND_MANY
    )
    with child(program, path, "dead", 1) as writer:
        assert writer.wait(timeout=250) == -signal.SIGKILL
    assert ids(path) == ["a"]
    assert [each for each in path.parent.iterdir() if each.name.endswith(creation.LEFTOVER)]
    record.append([entry("b")])
    assert ids(path) == ["a", "b"]
    assert not [each for each in path.parent.iterdir() if each.name.endswith(creation.LEFTOVER)]


def test_a_path_may_be_relative(path, record, monkeypatch):
    monkeypatch.chdir(path.parent.parent)
    Record(Path(".exlab-wizard/creation.json")).append([entry("a")])
    assert ids(path) == ["a"]
    assert record.read()["paths"]["local"] == str(path.parent.parent)
