"""Output that is larger than a reply: head and tail in the reply, the whole in a file, and never in memory."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from plughost.contracts.sideband.items import Omitted, Text
from plughost.host.sideband.spool import Spool
from tests.host.sideband.lab import EVERY, Lab, resident_kib

pytestmark = pytest.mark.thin(EVERY, "sideband-host")
MEMORY_KIB = 65_536  # that a reply of any size may cost: both ends of its text, read and joined
SMALL = {"head_chars": 2_000, "tail_chars": 2_000}


def test_a_reply_that_fits_needs_no_file(both: Lab) -> None:
    reply = both.console(**SMALL).run("print('x' * 1000)")
    assert reply.full_output is None
    assert reply.text == "x" * 1000 + "\n"


def test_a_reply_that_does_not_fit_has_head_and_tail_and_names_a_file_with_all_of_it(both: Lab) -> None:
    desk = both.console(**SMALL)
    reply = desk.run("for number in range(10_000): print(number)")
    whole = "".join(f"{number}\n" for number in range(10_000))
    head, gap, tail = reply.items
    assert isinstance(head, Text)
    assert isinstance(gap, Omitted)
    assert isinstance(tail, Text)
    assert gap.spooled
    assert len(head.text) + gap.chars + len(tail.text) == len(whole)
    assert whole.startswith(head.text)
    assert whole.endswith(tail.text)
    assert reply.full_output is not None
    assert reply.full_output.read_text() == whole
    assert reply.full_output.stat().st_mode & 0o077 == 0
    assert reply.full_output.parent.stat().st_mode & 0o077 == 0
    assert desk.run("1").full_output is None
    desk.close()
    assert not reply.full_output.parent.exists()


@pytest.mark.parametrize("size", [1_999, 2_000, 2_001, 3_500], ids=str)
def test_a_reply_that_is_larger_than_its_head_but_fits_is_whole_and_needs_no_file(
    lab: Lab, size: int
) -> None:
    reply = lab.console(**SMALL).run(f"print('x' * {size})")
    assert reply.full_output is None
    assert reply.text == "x" * size + "\n"
    assert not [item for item in reply.items if isinstance(item, Omitted)]


def test_a_file_holds_text_and_nothing_else(both: Lab) -> None:
    desk = both.console(**SMALL)
    asked = desk.run(
        "import sys\nprint('o' * 3000, flush=True); print('e' * 3000, file=sys.stderr, flush=True); input('? ')"
    )
    assert asked.full_output is not None
    rest = desk.answer("yes")
    assert rest.full_output == asked.full_output
    written = asked.full_output.read_text()
    assert sorted(written.splitlines()) == ["'yes'", "e" * 3000, "o" * 3000]


def test_a_file_that_was_removed_is_made_again_with_what_comes_since_and_that_is_said(both: Lab) -> None:
    desk = both.console(**SMALL)
    first = desk.run("print('a' * 5000); input('? '); print('b' * 5000)")
    assert first.full_output is not None
    assert first.notices == ()
    first.full_output.unlink()
    rest = desk.answer("")
    assert rest.full_output == first.full_output
    assert rest.full_output is not None
    assert rest.full_output.read_text() == "b" * 5000 + "\n"
    assert rest.full_output.stat().st_mode & 0o077 == 0
    assert len(rest.notices) == 1


def test_the_file_goes_on_over_polls_and_the_next_large_output_has_its_own(both: Lab) -> None:
    desk = both.console(**SMALL)
    first = desk.run("print('a' * 5000); input('? '); print('b' * 5000)")
    rest = desk.answer("")
    assert first.full_output == rest.full_output
    assert first.full_output is not None
    assert first.full_output.read_text() == "a" * 5000 + "\n" + "b" * 5000 + "\n"
    other = desk.run("print('c' * 5000)").full_output
    assert other is not None
    assert other != first.full_output
    assert other.read_text() == "c" * 5000 + "\n"


def test_what_a_dead_worker_printed_is_whole_in_its_file(both: Lab) -> None:
    desk = both.console(**SMALL)
    reply = desk.run("import os; print('d' * 5000, flush=True); os._exit(1)")
    assert reply.state == "ended"
    assert reply.full_output is not None
    assert reply.full_output.read_text() == "d" * 5000 + "\n"


def test_files_in_a_directory_of_the_users_are_kept(both: Lab, tmp_path: Path) -> None:
    desk = both.console(output_directory=tmp_path / "outputs", **SMALL)
    reply = desk.run("print('e' * 5000)")
    desk.close()
    assert reply.full_output is not None
    assert reply.full_output.parent == tmp_path / "outputs"
    assert reply.full_output.read_text() == "e" * 5000 + "\n"


def test_consoles_that_share_a_directory_take_each_others_names_for_taken(both: Lab, tmp_path: Path) -> None:
    desks = [both.console(output_directory=tmp_path / "outputs", **SMALL) for _ in range(3)]
    replies = [desk.run(f"print('{letter}' * 5000)") for letter in "xy" for desk in desks]
    paths = [reply.full_output for reply in replies]
    assert [path.read_text() for path in paths if path is not None] == ["x" * 5000 + "\n"] * 3 + [
        "y" * 5000 + "\n"
    ] * 3
    assert len(set(paths)) == 6


def test_a_file_that_cannot_be_kept_is_said_and_costs_nothing_else(both: Lab, tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("in the way")
    desk = both.console(output_directory=tmp_path / "outputs", **SMALL)
    reply = desk.run("print('f' * 5000)")
    assert reply.full_output is None
    assert reply.notices
    assert not any(item.spooled for item in reply.items if isinstance(item, Omitted))
    assert desk.run("1").text == "1\n"


def test_a_removed_file_of_the_users_directory_is_made_again_and_one_in_its_place_is_left_alone(
    tmp_path: Path,
) -> None:
    spool = Spool(1_000, tmp_path)
    spool.begin()
    spool.write(b"lost")
    spool.flush()
    path = spool.path
    assert path is not None
    path.unlink()
    spool.write(b"kept")
    spool.flush()
    assert (spool.path, path.read_bytes()) == (path, b"kept")
    assert spool.problem is not None
    spool.problem = None
    path.unlink()
    path.write_bytes(b"another's")
    spool.write(b"elsewhere")
    spool.flush()
    assert path.read_bytes() == b"another's"
    assert spool.path not in (None, path)
    assert spool.path is not None
    assert spool.path.read_bytes() == b"elsewhere"
    assert spool.problem is not None
    spool.close()


def test_a_file_that_is_gone_when_it_is_told_is_there_again_and_said_to_be_cut(tmp_path: Path) -> None:
    spool = Spool(1_000, tmp_path)
    spool.begin()
    spool.write(b"lost")
    assert spool.path is not None
    spool.path.unlink()
    spool.flush()
    assert spool.path.read_bytes() == b""
    assert spool.problem is not None
    spool.close()


def test_a_forked_copy_of_the_host_writes_nothing_into_the_files(tmp_path: Path) -> None:
    spool = Spool(1_000, tmp_path)
    spool.begin()
    spool.write(b"once")
    child = os.fork()
    if not child:
        spool.flush()
        spool.close()
        os._exit(0)
    os.waitpid(child, 0)
    spool.flush()
    assert spool.path is not None
    assert spool.path.read_bytes() == b"once"
    spool.close()


def test_a_disk_that_is_full_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    spool = Spool(10**9, tmp_path)
    spool.begin()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        for _ in range(20):
            spool.write(b"x" * 100_000)
        spool.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert spool.path is None
    assert spool.problem is not None
    spool.close()


def test_what_was_removed_does_not_count_for_the_budget(tmp_path: Path) -> None:
    spool = Spool(10, tmp_path)
    spool.begin()
    spool.write(b"x" * 10)
    assert spool.path is not None
    spool.path.unlink()
    spool.write(b"y" * 10)
    spool.flush()
    assert spool.path.read_bytes() == b"y" * 10
    spool.close()


def test_a_private_directory_that_was_removed_is_made_anew_and_taken_away_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool(1_000)
    spool.begin()
    spool.write(b"lost")
    assert spool.path is not None
    shutil.rmtree(spool.path.parent)
    spool.write(b"kept")
    spool.flush()
    assert spool.path.read_bytes() == b"kept"
    assert spool.path.parent.stat().st_mode & 0o077 == 0
    spool.close()
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_the_files_of_a_console_that_was_forgotten_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool(1_000)
    spool.begin()
    spool.write(b"x")
    spool.flush()
    assert list(tmp_path.iterdir())
    del spool
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("room", "whole"), [(99, False), (100, True), (101, True)], ids=["99", "100", "101"])
def test_a_file_grows_up_to_its_budget_and_says_when_it_is_cut(
    tmp_path: Path, room: int, whole: bool
) -> None:
    spool = Spool(room, tmp_path)
    spool.begin()
    for _ in range(10):
        spool.write(b"x" * 10)
    spool.flush()
    assert spool.path is not None
    assert spool.path.stat().st_size == (100 if whole else 90)
    assert (spool.problem is None) is whole
    spool.close()


def test_older_files_make_room_for_the_latest() -> None:
    spool = Spool(25)
    paths = []
    for _ in range(4):
        spool.begin()
        spool.write(b"x" * 10)
        paths.append(spool.path)
    assert [path.exists() for path in paths if path] == [False, False, True, True]
    spool.close()
    assert not any(path.exists() for path in paths if path)


def test_pictures_are_bounded(lab: Lab) -> None:
    desk = lab.console(images=2, image_bytes=100_000)
    reply = desk.run(
        "import sys\n"
        "class P:\n"
        "    def __init__(self, size): self.size = size\n"
        "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + bytes([self.size % 256]) * self.size\n"
        "    def __repr__(self): return ''\n"
        "for size in (1, 2, 3, 4, 200_000): sys.displayhook(P(size))"
    )
    assert len(reply.images) == 2
    (gap,) = [item for item in reply.items if isinstance(item, Omitted)]
    assert gap.images == 3


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "amount", [10**8, pytest.param(10**9, marks=pytest.mark.long)], ids=["100-MB", "1-GB"]
)
def test_a_gigabyte_is_read_as_it_comes_and_kept_on_disk_only(both: Lab, amount: int) -> None:
    block, count = (b"y" * 63 + b"\n") * 1000, amount // 64_000
    desk = both.console()
    desk.run("import os; block = (b'y' * 63 + b'\\n') * 1000")
    before = resident_kib()
    reply = desk.run(f"for _ in range({count}): os.write(1, block)", 100)
    assert reply.state == "ready"
    assert resident_kib() - before < MEMORY_KIB
    assert len(reply.text) < 3_000_000
    assert reply.full_output is not None
    assert reply.full_output.stat().st_size == count * 64_000
    with reply.full_output.open("rb") as file:
        while data := file.read(64_000):
            assert data == block
    assert desk.run("1").text == "1\n"
