"""Files to be -> files on disk: all of them or none, even if the host is killed at any instant. Removes no file.

Theory of operation. All new contents are staged in a store inside the output directory, and the originals get a
second name there. Up to here nothing is touched, and whatever fails, or is found by the next run, is dropped. Then one
rename makes the journal count. From there on every file is put in place by a rename, and the next run finishes what
was not finished. If one cannot be put in place after all, another rename turns the journal: everything that was done is
undone, by this run or by the next. Each step looks first whether it was done, so both ways can be begun again.

An inode tells whose file is found: the original, ours, or somebody else's. The last is never replaced nor removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import TreeError
from ..files.checkpoints import checkpoint
from ..files.directories import parent_of
from ..files.tree import shown
from .changes import Change, ChangeKind, compare_in
from .ground import NEW_DIRECTORY, Ground, find, held
from .journal import Journal, Step
from .offers import Output
from .paths import STORE
from .store import NEW, OLD, Store


def write(outputs: Sequence[Output], directory: Path) -> list[Change]:
    """Make the files in *directory* be *outputs*, all or none, and return what that changed, in their order.

    The directory is made if it is missing. A file that is replaced keeps its mode; one that is as it should be is not
    touched. What an earlier, killed run has left is dealt with first. Raises TreeError, and then none is written.
    """
    if not outputs and find(directory) is None:
        return []
    made = _make(directory)
    try:
        with held(directory) as ground:
            _recover(ground)
            changes = list(compare_in(ground, outputs))
            differing = [change for change in changes if change.kind is not ChangeKind.UNCHANGED]
            if differing:
                _replace(ground, differing)
        return changes
    except BaseException:
        _unmake(made)
        raise


def recover(directory: Path) -> bool:
    """Finish, or undo, what a killed run has left in *directory*. Returns whether there was something.

    Raises TreeError if it cannot be done, or if another run is at work.
    """
    root = find(directory)
    if root is None or not os.path.lexists(root / STORE):
        return False
    with held(directory) as ground:
        return _recover(ground)


def _make(directory: Path) -> list[Path]:
    """Make *directory* and those above it, and return which were missing."""
    made: list[Path] = []
    if find(directory) is not None:
        return made
    whole = directory.absolute()
    try:
        for each in (*reversed(whole.parents), whole):
            if not os.path.lexists(each):
                os.mkdir(each, NEW_DIRECTORY)
                made.append(each)
    except OSError as error:
        _unmake(made)
        problem = f"cannot be made: {error.strerror or error}"
        raise TreeError(shown(directory), problem, "Name another directory, or make it yourself") from error
    return made


def _unmake(made: Sequence[Path]) -> None:
    for each in reversed(made):
        with suppress(OSError):
            os.rmdir(each)


def _replace(ground: Ground, changes: Sequence[Change]) -> None:
    with _naming(ground, STORE, "cannot be made"):
        store = Store.create(ground)
    with store:
        try:
            with _naming(ground, STORE, "files cannot be staged in it"):
                journal = _stage(ground, store, changes)
                store.commit(journal)
        except BaseException:
            with suppress(OSError, TreeError):  # the next run will
                store.remove()
            raise
        try:
            _apply(ground, store, journal)
        except BaseException:
            _undo(ground, store, journal)
            raise
        with suppress(TreeError):  # every file is in place; the next run will
            _clear(ground, store)


def _stage(ground: Ground, store: Store, changes: Sequence[Change]) -> Journal:
    """Put everything into the *store*, and return what is to be done with it. Raises OSError, TreeError."""
    steps: list[Step] = []
    directories: dict[str, None] = {}
    for number, change in enumerate(changes):
        checkpoint()
        directories.update(dict.fromkeys(ground.missing(change.path)))
        like = ground.look(change.path)
        staged = store.stage(number, change.after, like)
        original = None
        if like is not None:
            kept = store.keep(number, change.path)
            original = like.st_ino if kept is None else kept
        steps.append(Step(change.path, staged, original))
    return Journal(store.inode, tuple(steps), tuple(directories))


def _apply(ground: Ground, store: Store, journal: Journal) -> None:
    """Put every file in place that is not yet. Raises TreeError."""
    ground.look_anew()
    for path in journal.directories:
        with _naming(ground, path, "cannot be made"):
            ground.make(path)
    for number, step in enumerate(journal.steps):
        with _naming(ground, step.path, "cannot be put in place"):
            _place(ground, store, number, step)
    _sync(ground, journal)


def _place(ground: Ground, store: Store, number: int, step: Step) -> None:
    if not store.has(NEW, number):
        return  # whoever was killed has come this far
    found = ground.look(step.path)
    if found is not None and found.st_ino != step.original:
        problem = "has been made or replaced by something else meanwhile"
        raise TreeError(shown(ground.root, step.path), problem, "Run it again")
    if found is not None and not store.has(OLD, number):
        store.move_in(number, step.path)  # where a file cannot have two names
    store.move_out(NEW, number, step.path)


def _undo(ground: Ground, store: Store, journal: Journal) -> None:
    """Put every original back that was replaced. Raises TreeError if one could not be; the others are."""
    failures: list[TreeError] = []
    ground.look_anew()
    with _naming(ground, STORE, "cannot be undone"):
        store.turn_back()
    for number, step in reversed(list(enumerate(journal.steps))):
        try:
            with _naming(ground, step.path, "cannot be put back"):
                _put_back(ground, store, number, step)
        except TreeError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    for path in reversed(journal.directories):
        with suppress(OSError, TreeError):  # it is not there, or something else is in it by now
            directory, name = ground.parent(path)
            os.rmdir(name, dir_fd=directory)
    ground.look_anew()
    with suppress(TreeError):  # a directory that cannot be reached holds nothing of ours
        _sync(ground, journal)
    _clear(ground, store)


def _put_back(ground: Ground, store: Store, number: int, step: Step) -> None:
    if step.original is None:
        with suppress(TreeError):  # something else stands in its way: then it is not there
            if _is_placed(ground.look(step.path), step):
                directory, name = ground.parent(step.path)
                os.unlink(name, dir_fd=directory)
        return
    names = store.names_of_original(number)
    if names == 0 or (names > 1 and store.has(NEW, number)):
        return  # it was never touched, wherever it is by now
    found = ground.look(step.path)
    if found is None or _is_placed(found, step):
        store.move_out(OLD, number, step.path)


def _is_placed(found: os.stat_result | None, step: Step) -> bool:
    return found is not None and found.st_ino == step.staged


def _sync(ground: Ground, journal: Journal) -> None:
    touched = {parent_of(path) for path in (*journal.directories, *(step.path for step in journal.steps))}
    for path in sorted(touched):
        with _naming(ground, path, "cannot be saved"):
            ground.sync(path)


def _clear(ground: Ground, store: Store) -> None:
    with _naming(ground, STORE, "cannot be removed"):
        store.remove()


def _recover(ground: Ground) -> bool:
    with _naming(ground, STORE, "cannot be opened"):
        store = Store.find(ground)
    if store is None:
        return False
    with store:
        left = store.read_journal()
        if left is None:
            _clear(ground, store)
        elif left.turned or not _applies(ground, store, left.journal):
            _undo(ground, store, left.journal)
        else:
            _clear(ground, store)
    return True


def _applies(ground: Ground, store: Store, journal: Journal) -> bool:
    """Put in place what a killed run has not. Returns whether that was possible."""
    try:
        _apply(ground, store, journal)
    except TreeError:
        return False
    return True


@contextmanager
def _naming(ground: Ground, path: str, what: str) -> Iterator[None]:
    """Let a TreeError that says *what* could not be done to *path* be all that comes of an OSError."""
    try:
        yield
    except OSError as error:
        raise ground.trouble(path, what, error) from error
