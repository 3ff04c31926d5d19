"""A directory that a group works on: what one of them makes there the others can use, and nobody else."""

import os
import stat
from pathlib import Path

import pytest

from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from plughost.host.envelope.ledger import keep_stderr
from plughost.record.creation import Record
from plughost.record.log_file import StderrFile, WizardLog
from tests.conftest import NOBODY

pytestmark = pytest.mark.usefixtures("leak_check")

RAW = ".exlab-wizard/plugins/p/r-1.stderr"
ALONE = {
    ".exlab-wizard": 0o755,
    ".exlab-wizard/creation.json": 0o644,
    ".exlab-wizard/creation.json.lock": 0o644,
    ".exlab-wizard/wizard.h.log": 0o644,
    ".exlab-wizard/plugins": 0o755,
    ".exlab-wizard/plugins/p": 0o755,
    RAW: 0o600,
}
SHARED = {
    ".exlab-wizard": 0o775,
    ".exlab-wizard/creation.json": 0o664,
    ".exlab-wizard/creation.json.lock": 0o664,
    ".exlab-wizard/wizard.h.log": 0o664,
    ".exlab-wizard/plugins": 0o775,
    ".exlab-wizard/plugins/p": 0o775,
    RAW: 0o640,
}


def write_books(root: Path, number: int = 1) -> None:
    """Write what a pass writes."""
    Record(root / ".exlab-wizard/creation.json").append([{"id": f"r-{number}"}])
    WizardLog(root / ".exlab-wizard", "h").append(["line"])
    raw = root.parent / f"r-{number}.stderr"
    with StderrFile(raw) as file:
        file.write(b"secret")
    keep_stderr(raw, root / ".exlab-wizard", "p")


def modes(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}


@pytest.mark.parametrize(
    ("mode", "wanted"), [(0o755, ALONE), (0o750, ALONE), (0o775, SHARED), (0o770, SHARED)]
)
def test_the_group_of_the_directory_may_use_what_is_made_there_if_it_may_write_there(mode, wanted, tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    root.chmod(mode)
    umask = os.umask(0o022)
    try:
        write_books(root)
    finally:
        os.umask(umask)
    assert modes(root) == wanted


def test_a_second_user_of_the_group_can_save_the_directory_and_add_to_its_books(ordinary):
    if os.getuid():
        pytest.skip("only root can be two users")
    root = ordinary / "tree"
    root.mkdir()
    root.chmod(0o775)
    os.seteuid(0)
    write_books(root)
    assert {path.stat().st_gid for path in root.rglob("*")} == {NOBODY}
    os.seteuid(NOBODY)
    Snapshot.take(root, place(root)).close()
    Record(root / ".exlab-wizard/creation.json").check(room=0, make=False)
    WizardLog(root / ".exlab-wizard", "h").check(make=False)
    write_books(root, 2)
    os.seteuid(0)
    write_books(root, 3)
    os.seteuid(NOBODY)
    assert [
        each["id"] for each in Record(root / ".exlab-wizard/creation.json").read()["plugins_applied"]
    ] == [
        "r-1",
        "r-2",
        "r-3",
    ]


def test_a_group_that_we_are_not_in_is_given_nothing_and_ours_neither(ordinary):
    if os.getuid():
        pytest.skip("only root can make a directory of a group it is not in")
    root = ordinary / "tree"
    root.mkdir()
    os.seteuid(0)
    os.chown(root, NOBODY, 0)
    root.chmod(0o775)
    os.seteuid(NOBODY)
    groups = os.getgroups()
    if 0 in groups:
        os.seteuid(0)
        os.setgroups([])
        os.seteuid(NOBODY)
    try:
        write_books(root)
    finally:
        os.seteuid(0)
        os.setgroups(groups)
        os.seteuid(NOBODY)
    assert modes(root)[RAW] == 0o600
