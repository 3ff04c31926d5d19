"""The log of a host and the raw stderr of a worker, as files that no link and no flood can misuse."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from plughost.errors import TreeError
from plughost.record.log_file import NAME_LIMIT, StderrFile, WizardLog

pytestmark = pytest.mark.usefixtures("leak_check")

APPEND_MANY = """
import sys
from pathlib import Path
from plughost.record.log_file import WizardLog
log = WizardLog(Path(sys.argv[1]), "h")
for at in range(100):
    log.append([f"{sys.argv[2]} {at} first", f"{sys.argv[2]} {at} second"])
"""


def test_lines_are_added_to_the_log_of_the_host(tmp_path):
    log = WizardLog(tmp_path / "logs", "bench-1.lab")
    log.append(["one", "two"])
    log.append(["ä"])
    log.append([])
    assert log.path == tmp_path / "logs" / "wizard.bench-1.lab.log"
    assert log.path.read_text() == "one\ntwo\nä\n"


def test_nothing_to_add_makes_no_file(tmp_path):
    WizardLog(tmp_path / "logs", "h").append([])
    assert not (tmp_path / "logs").exists()


def test_the_host_is_this_machine_unless_another_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "here")
    assert WizardLog(tmp_path).path.name == "wizard.here.log"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("../../etc/x", "etc-x"),
        ("a b\nc", "a-b-c"),
        ("", "localhost"),
        ("..", "localhost"),
        ("ä", "localhost"),
        ("x" * 300, "x" * NAME_LIMIT),
    ],
)
def test_a_host_of_any_name_has_a_log_in_the_directory(host, name, tmp_path):
    assert WizardLog(tmp_path, host).path == tmp_path / f"wizard.{name}.log"


def test_a_line_stays_one_line(tmp_path):
    log = WizardLog(tmp_path, "h")
    log.append(["a\nb\u2028c\udcff"])
    assert log.path.read_text() == "a\\x0ab\\u2028c\\udcff\n"


def test_lines_of_one_call_stay_together_whoever_else_writes(tmp_path):
    command = [sys.executable, "-c", APPEND_MANY, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [writer.wait(timeout=250) for writer in writers] == [0, 0, 0]
    lines = (tmp_path / "wizard.h.log").read_text().splitlines()
    assert len(lines) == 600
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        assert first.replace("first", "second") == second


def test_a_link_in_the_place_of_the_log_is_refused(tmp_path):
    target = tmp_path / "outside"
    log = WizardLog(tmp_path, "h")
    log.path.symlink_to(target)
    with pytest.raises(TreeError) as caught:
        log.append(["x"])
    assert caught.value.path == str(log.path)
    assert not target.exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_log_that_is_no_regular_file_is_refused_without_waiting(make, tmp_path):
    log = WizardLog(tmp_path, "h")
    make(log.path)
    with pytest.raises(TreeError):
        log.append(["x"])


def test_a_pipe_that_somebody_reads_is_no_log_either(tmp_path):
    log = WizardLog(tmp_path, "h")
    os.mkfifo(log.path)
    reader = os.open(log.path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(TreeError):
            log.append(["x"])
    finally:
        os.close(reader)


def test_a_log_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TreeError) as caught:
        WizardLog(tmp_path / "file", "h").append(["x"])
    assert caught.value.path == str(tmp_path / "file" / "wizard.h.log")


# The raw stderr


def test_to_look_at_a_log_makes_nothing_unless_it_is_told_to(tmp_path):
    log = WizardLog(tmp_path / "logs", "h")
    log.check(make=False)
    assert not log.path.parent.exists()
    log.check(make=True)
    assert log.path.read_text() == ""


@pytest.mark.parametrize("name", ["wizard.h.log", "."])
def test_a_log_that_may_not_be_written_is_found_out_beforehand(name, ordinary):
    log = WizardLog(ordinary, "h")
    log.append(["one"])
    (ordinary / name).chmod(0o555)
    with pytest.raises(TreeError) as caught:
        log.check(make=False)
    assert caught.value.path == str(ordinary / name)


def test_a_filesystem_that_takes_no_log_is_found_out_beforehand():
    with pytest.raises(TreeError):
        WizardLog(Path("/proc"), "h").check(make=True)


def test_raw_bytes_are_kept_as_they_are(tmp_path):
    with StderrFile(tmp_path / "p" / "r.1.stderr") as file:
        file.write(b"\x1b[31m\xff")
        file.write(b"")
        file.write(b"\nend")
    assert file.path.read_bytes() == b"\x1b[31m\xff\nend"
    assert file.dropped == 0
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.close()


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("over", [-1, 0, 1, 500])
def test_bytes_past_the_limit_are_counted_and_the_last_line_says_so(over, pieces, tmp_path):
    data = b"x" * (100 + over)
    step = len(data) // pieces + 1
    with StderrFile(tmp_path / "f", limit=100) as file:
        for at in range(0, len(data), step):
            file.write(data[at : at + step])
    kept, *note = file.path.read_bytes().splitlines()
    assert kept == data[:100]
    assert file.dropped == max(over, 0)
    assert len(note) == (over > 0)
    assert not note or str(over).encode() in note[0]


def test_the_note_begins_a_line_of_its_own_and_no_empty_one(tmp_path):
    with StderrFile(tmp_path / "f", limit=2) as file:
        file.write(b"a\nb")
    assert len(file.path.read_bytes().splitlines()) == 2


def test_a_full_disk_drops_and_counts_and_does_not_fail(tmp_path, monkeypatch):
    file = StderrFile(tmp_path / "f")

    def full(fd, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        file.write(b"12345")
    file.write(b"678")
    file.close()
    assert file.dropped == 8
    assert b"8" in file.path.read_bytes()


def test_a_file_that_is_there_is_never_written_over(tmp_path):
    path, target = tmp_path / "f", tmp_path / "outside"
    path.write_text("old")
    with pytest.raises(TreeError):
        StderrFile(path)
    assert path.read_text() == "old"
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(TreeError):
        StderrFile(tmp_path / "link")
    assert not target.exists()
