"""Files beneath granted roots and nothing else: whatever is asked, lies there, or is swapped meanwhile."""

from __future__ import annotations

import base64
import os
import socket
import threading
from pathlib import Path

import msgspec
import pytest

from plughost.capabilities.gates import ROOTS, Gates, Refusal
from plughost.capabilities.grants import Capability, Grants
from plughost.contracts.duplex.messages import FRAME_BYTES, DirEntry, FsReadDirResult, FsReadFileResult
from plughost.host.duplex import files
from plughost.host.duplex.files import FILE_LIMIT, GrantedFiles, roots
from plughost.messages.jsonrpc import CAPABILITY_DENIED, INVALID_PARAMS

CLAUDE = Capability.READ_CLAUDE_LOGS
SECRET = b"not for plugins"

pytestmark = pytest.mark.usefixtures("leak_check")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.claude/projects").mkdir(parents=True)
    (tmp_path / "home/secret").write_bytes(SECRET)
    return tmp_path / "home"


@pytest.fixture
def root(home: Path) -> Path:
    return home / ".claude/projects"


def granted(home: Path, grant=True) -> GrantedFiles:
    return GrantedFiles(Gates(Grants({CLAUDE: grant}), roots(home=home), str(home)))


def code(answer) -> int | None:
    return answer.code if isinstance(answer, Refusal) else None


def both(home: Path, path) -> list[int | None]:
    return [code(granted(home).read_dir(str(path))), code(granted(home).read_file(str(path)))]


def test_a_file_is_read_by_its_path_and_by_the_hosts_home(home, root):
    (root / "a").mkdir()
    (root / "a/b.jsonl").write_bytes(b"\x00\xff")
    for path in (root / "a/b.jsonl", "~/.claude/projects/a/b.jsonl", f"{root}/a/../a//./b.jsonl"):
        assert granted(home).read_file(str(path)) == b"\x00\xff"


def test_a_listing_is_sorted_and_says_what_is_a_directory(home, root):
    (root / "b").write_bytes(b"12345")
    (root / "ä").mkdir()
    (root / "a").symlink_to(home)
    (root / "B").write_bytes(b"")
    assert granted(home).read_dir(str(root)) == (
        DirEntry("B", False, 0),
        DirEntry("a", False, 0),
        DirEntry("b", False, 5),
        DirEntry("ä", True, 0),
    )


def test_a_root_elsewhere_is_found_under_its_usual_name_and_hides_what_is_there(home, root, tmp_path):
    elsewhere, second = tmp_path / "elsewhere", tmp_path / "second"
    for place, word in ((elsewhere, b"mapped"), (second, b"second"), (root, SECRET)):
        place.mkdir(exist_ok=True)
        (place / "log").write_bytes(word)
    (root / "real-only").write_bytes(SECRET)
    gates = Gates(
        Grants({CLAUDE: True}), roots({CLAUDE: (str(elsewhere), str(second))}, home=home), str(home)
    )
    served = GrantedFiles(gates)
    for path in ("~/.claude/projects/log", f"{root}/log", f"{elsewhere}/log"):
        assert served.read_file(path) == b"mapped"
    assert served.read_file(f"{second}/log") == b"second"
    assert code(served.read_file("~/.claude/projects/real-only")) == INVALID_PARAMS
    assert code(served.read_file("~/.claude/projects/../../secret")) == CAPABILITY_DENIED


def test_the_home_of_the_process_is_the_default(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    assert roots() == roots(home=home)
    assert {each.capability for each in roots()} == set(ROOTS)


@pytest.mark.parametrize("path", ["", ".", "logs", "../logs", "~root/logs"])
def test_a_root_that_depends_on_where_the_host_was_started_is_none(path):
    with pytest.raises(ValueError, match="absolute"):
        roots({CLAUDE: (path,)})


def test_a_name_that_is_not_utf8_is_listed_as_far_as_it_can_be_said(home, root):
    Path(os.fsdecode(os.fsencode(root) + b"/x\xff")).touch()
    listed = granted(home).read_dir(str(root))
    assert [each.name for each in listed] == ["x\ufffd"]
    msgspec.json.encode(FsReadDirResult(listed))


@pytest.mark.parametrize(
    "below", ["../secret", "a/../../secret", "../../home/secret", "../projects-evil/x", ".."]
)
def test_what_lies_beside_the_root_is_denied(home, root, below):
    (root.parent / "projects-evil").mkdir()
    (root.parent / "projects-evil/x").write_bytes(SECRET)
    (root / "a").mkdir()
    assert both(home, f"{root}/{below}") == [CAPABILITY_DENIED] * 2


def test_without_the_capability_nothing_is_read(home, root):
    (root / "a").write_bytes(SECRET)
    for grant in (False, (), ("b",)):
        assert code(granted(home, grant).read_file(f"{root}/a")) == CAPABILITY_DENIED
    assert granted(home, ("a",)).read_file(f"{root}/a") == SECRET


@pytest.mark.parametrize(
    "target", ["../../secret", "{home}/secret", "{home}", "/etc", "/proc/self/root", "inside", "a", "nowhere"]
)
def test_no_symlink_is_followed_wherever_it_leads(home, root, target):
    (root / "inside").mkdir()
    (root / "inside/secret").write_bytes(SECRET)
    (root / "a").symlink_to(target.format(home=home))
    assert both(home, root / "a") == [CAPABILITY_DENIED] * 2
    assert both(home, root / "a/secret") == [CAPABILITY_DENIED] * 2
    assert both(home, root / "a/b/c") == [CAPABILITY_DENIED] * 2


def test_a_root_may_itself_be_reached_by_a_symlink_and_be_asked_for_by_both_names(home, root, tmp_path):
    root.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a").write_bytes(b"a")
    root.symlink_to(tmp_path / "elsewhere")
    for path in (root / "a", tmp_path / "elsewhere/a"):
        assert granted(home).read_file(str(path)) == b"a"


def test_a_root_that_becomes_a_symlink_later_is_not_followed(home, root):
    served = granted(home)
    root.rmdir()
    root.symlink_to(home)
    assert code(served.read_file(f"{root}/secret")) == CAPABILITY_DENIED
    assert code(served.read_dir(str(root))) == CAPABILITY_DENIED


def test_a_root_that_is_not_there_yet_is_missing_and_then_there(home, root):
    root.rmdir()
    served = granted(home)
    assert code(served.read_dir(str(root))) == INVALID_PARAMS
    assert code(served.read_file(f"{root}/a")) == INVALID_PARAMS
    root.mkdir()
    assert served.read_dir(str(root)) == ()


def test_what_is_missing_or_unfit_is_invalid_and_named(home, root):
    (root / "file").write_bytes(b"")
    (root / "dir").mkdir()
    for path in ("missing", "dir/missing", "file/below", "x" * 300):
        assert both(home, root / path) == [INVALID_PARAMS] * 2
    assert code(granted(home).read_dir(f"{root}/file")) == INVALID_PARAMS
    assert code(granted(home).read_file(f"{root}/dir")) == INVALID_PARAMS
    assert code(granted(home).read_file(str(root))) == INVALID_PARAMS
    assert granted(home).read_file(f"{root}/missing").message.startswith(f"read {root}/missing: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_may_not_be_read_is_invalid(home, root):
    (root / "file").write_bytes(b"")
    (root / "file").chmod(0)
    assert code(granted(home).read_file(f"{root}/file")) == INVALID_PARAMS


def test_a_fifo_and_a_socket_are_refused_without_waiting(home, root, monkeypatch):
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert both(home, root / "fifo") == [INVALID_PARAMS] * 2
        assert both(home, root / "socket") == [INVALID_PARAMS] * 2


def test_a_device_is_not_even_opened(monkeypatch):
    opened = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *args, **kwargs: opened.append(path) or real(path, *args, **kwargs)
    )
    served = GrantedFiles(Gates(Grants({CLAUDE: True}), roots({CLAUDE: ("/dev",)})))
    assert code(served.read_file("/dev/zero")) == INVALID_PARAMS
    assert "zero" not in opened


def test_the_root_of_everything_can_be_a_root_and_still_no_symlink_leads_on(home):
    served = GrantedFiles(Gates(Grants({CLAUDE: True}), roots({CLAUDE: ("/",)})))
    assert code(served.read_file("/proc/self/root/etc/passwd")) == CAPABILITY_DENIED
    assert code(served.read_dir("/proc/self/cwd")) == CAPABILITY_DENIED
    assert served.read_file(f"{home.resolve()}/secret") == SECRET


def test_the_largest_file_fits_a_frame_and_a_larger_one_is_refused(home, root):
    path = root / "big"
    with path.open("wb") as file:
        file.truncate(FILE_LIMIT)
    content = granted(home).read_file(str(path))
    assert len(content) == FILE_LIMIT
    wire = msgspec.json.encode({"jsonrpc": "2.0", "id": 2**64 - 1, "result": FsReadFileResult(content)})
    assert len(base64.b64encode(content)) < len(wire) <= FRAME_BYTES
    os.truncate(path, FILE_LIMIT + 1)
    assert code(granted(home).read_file(str(path))) == INVALID_PARAMS
    os.truncate(path, 2**40)
    assert code(granted(home).read_file(str(path))) == INVALID_PARAMS


def test_a_file_that_grows_while_it_is_read_is_bounded(home, root, monkeypatch):
    (root / "a").write_bytes(b"x" * 10)
    monkeypatch.setattr(files, "FILE_LIMIT", 10)
    monkeypatch.setattr(files, "CHUNK", 4)
    assert granted(home).read_file(f"{root}/a") == b"x" * 10
    real = os.fstat

    def grow(fd):
        status = real(fd)
        with (root / "a").open("ab") as file:
            file.write(b"y")
        return status

    monkeypatch.setattr(os, "fstat", grow)
    assert code(granted(home).read_file(f"{root}/a")) == INVALID_PARAMS


def test_a_listing_is_bounded_by_count(home, root, monkeypatch):
    monkeypatch.setattr(files, "ENTRIES_LIMIT", 3)
    for name in "abc":
        (root / name).touch()
    assert len(granted(home).read_dir(str(root))) == 3
    (root / "d").touch()
    assert code(granted(home).read_dir(str(root))) == INVALID_PARAMS


@pytest.mark.parametrize(
    "name",
    ["{}", '{}"\\', "{}\x01\n\x1f\x7f", "{}ä", "{}\u2028", "{}😀"],
    ids=["plain", "quote", "control", "two", "three", "four"],
)
def test_a_listing_is_bounded_by_what_it_is_as_json(home, root, monkeypatch, name):
    for number in range(50):
        whole = name.format(number)
        (root / (whole + whole[-1] * 50)).touch()
    wire = len(msgspec.json.encode(FsReadDirResult(granted(home).read_dir(str(root)))))
    monkeypatch.setattr(files, "LISTING_LIMIT", wire - 1)
    assert code(granted(home).read_dir(str(root))) == INVALID_PARAMS


def test_a_directory_swapped_for_a_symlink_at_the_last_moment_gives_nothing_away(home, root, monkeypatch):
    (root / "a").mkdir()
    (root / "a/secret").write_bytes(b"harmless")
    real = os.open
    swapped = []

    def swap(path, *args, **kwargs):
        if path == "a" and not swapped:
            (root / "a").rename(root / "old")
            (root / "a").symlink_to(home)
            swapped.append(path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swap)
    assert code(granted(home).read_file(f"{root}/a/secret")) == CAPABILITY_DENIED
    assert swapped


def test_a_file_swapped_for_a_symlink_or_a_fifo_after_the_look_gives_nothing_away(home, root, monkeypatch):
    real = os.stat
    for swap in (lambda path: path.symlink_to(home / "secret"), os.mkfifo):
        (root / "a").write_bytes(b"harmless")
        looked = []

        def look(path, *args, swap=swap, looked=looked, **kwargs):
            status = real(path, *args, **kwargs)
            if path == "a" and not looked:
                looked.append(path)
                (root / "a").unlink()
                swap(root / "a")
            return status

        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", look)
            assert code(granted(home).read_file(f"{root}/a")) in (CAPABILITY_DENIED, INVALID_PARAMS)
        assert looked
        (root / "a").unlink()


@pytest.mark.parametrize("times", [1000, pytest.param(30_000, marks=pytest.mark.long)])
def test_a_race_of_swaps_never_leaks(home, root, times):
    (root / "real").mkdir()
    (root / "real/secret").write_bytes(b"harmless")
    (root / "bad").symlink_to(home)
    (root / "a").symlink_to("real")
    over = threading.Event()

    def swap() -> None:
        os.unlink(root / "a")
        while not over.is_set():
            os.rename(root / "real", root / "a")
            os.rename(root / "a", root / "real")
            os.rename(root / "bad", root / "a")
            os.rename(root / "a", root / "bad")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        served = granted(home)
        answers = [served.read_file(f"{root}/a/secret") for _ in range(times)]
    finally:
        over.set()
        thread.join()
    assert {each for each in answers if isinstance(each, bytes)} <= {b"harmless"}


def test_a_deep_path_costs_few_descriptors(home, root):
    deep = root
    for _ in range(300):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "f").write_bytes(b"f")
    assert granted(home).read_file(f"{deep}/f") == b"f"
