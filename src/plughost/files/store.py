"""A tree -> where what is saved of it lives: beside it, on the same filesystem if that can be, and never inside."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ..errors import TreeError
from .directories import OPEN_DIRECTORY
from .inventory import INVENTORY, sync_directory
from .objects import COPIES
from .tree import shown

NAME_MAX = 255  # bytes of one name
STORE_MODE = 0o700
STORE_END = ".plughost"  # of its name beside the tree


def place(root: Path) -> Path:
    """Return where the store of the directory *root* belongs. Raises TreeError for anything else, and for `/`."""
    tree = resolve(root)
    beside = _beside(tree)
    if beside is not None and _can_hold(beside.parent, tree):
        return beside
    aside = apart(tree)
    store = None if aside is None else _without_links(aside)
    if store is None or store.is_relative_to(tree):
        raise TreeError(
            shown(tree),
            "there is no place outside of it to save it to",
            "Make its parent directory writable, or let XDG_STATE_HOME name a directory elsewhere",
        )
    return store


def find(root: Path) -> Path | None:
    """Return the store that was left of *root*, if there is one. *root* need not be there any more."""
    found = locate(root)
    return found[1] if found is not None else None


def locate(root: Path) -> tuple[Path, Path] | None:
    """Return a tree and the store that was left of it: *root* itself, or what it links to."""
    above, name = os.path.split(os.path.abspath(root))
    tree = Path(os.path.realpath(above), name)
    trees = (
        [tree, tree.resolve()] if tree.is_symlink() else [tree]
    )  # a plugin may have made it the link that it is
    for each in trees:
        for store in places(each):
            if _is_ours(store):
                return each, _without_links(store)
    return None


def resolve(root: Path) -> Path:
    """Return the real path of the directory *root*. Raises TreeError for what is none, and for `/`."""
    try:
        tree = root.resolve(strict=True)
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # a loop of links is a RuntimeError until Python 3.13
        reason = getattr(error, "strerror", None) or str(error)
        raise TreeError(shown(root), f"cannot be found: {reason}", "Name an existing directory") from error
    if not tree.is_dir():
        raise TreeError(shown(root), "is not a directory", "Name an existing directory")
    if tree.parent == tree:
        raise TreeError(shown(root), "is the whole filesystem", "Name a directory in it")
    return tree


def create(store: Path, tree: Path) -> None:
    """Make an empty store, for us alone. Raises TreeError if there is one with something in it."""
    if store.parent.resolve().is_relative_to(tree):
        raise TreeError(shown(store), f"lies inside of {shown(tree)}", "Save to a place outside of it")
    try:
        with suppress(FileExistsError):
            _make(store)
        if not _is_ours(store) or os.listdir(store):
            raise TreeError(
                shown(store), "something was left here by an earlier pass", "Recover the directory first"
            )
        store.chmod(STORE_MODE)
    except OSError as error:
        reason = error.strerror or str(error)
        raise TreeError(shown(store), f"cannot be made: {reason}", "Check the directory above it") from error


def _make(store: Path) -> None:
    try:
        os.mkdir(store, STORE_MODE)
    except FileNotFoundError:  # not even the directory above is there
        store.parent.mkdir(mode=STORE_MODE, parents=True, exist_ok=True)
        os.mkdir(store, STORE_MODE)


def remove_store(store: Path) -> None:
    """Remove a store. From the first step on, it does not count any more."""
    try:
        (store / INVENTORY).unlink(missing_ok=True)
        sync_directory(store)
        _remove_rest(os.fspath(store))
    except FileNotFoundError:
        return
    except OSError as error:
        raise TreeError(
            shown(store), f"cannot be removed: {error.strerror or error}", "Remove it by hand"
        ) from error


def _remove_rest(store: str) -> None:
    """Remove what is left, as we have made it; what somebody else made of it is found out then, and takes longer."""
    try:
        for directory in (os.path.join(store, COPIES), store):
            _remove_flat(directory)
    except OSError:
        shutil.rmtree(store)


def _remove_flat(directory: str) -> None:
    """Remove a directory that holds files alone. Raises OSError for any other; through a link nothing is removed."""
    fd = os.open(directory, OPEN_DIRECTORY)
    try:
        for name in os.listdir(fd):
            os.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
    os.rmdir(directory)


def places(tree: Path) -> Iterator[Path]:
    """Yield where a store of *tree*, which is its real path, may be."""
    for store in (_beside(tree), apart(tree)):
        if store is not None:
            yield store


def apart(tree: Path) -> Path | None:
    """Return where the store of *tree* is if it cannot be beside it."""
    directory = passes()
    return None if directory is None else directory / sha256(os.fsencode(tree)).hexdigest()[:32]


def passes() -> Path | None:
    """Return the directory of the stores that are not beside their trees; None if nobody knows where home is."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = state if os.path.isabs(state) else os.path.expanduser("~/.local/state")
    return None if base.startswith("~") else Path(base, "plughost/passes")


def _beside(tree: Path) -> Path | None:
    name = f".{tree.name}{STORE_END}"
    return tree.parent / name if tree.name and len(os.fsencode(name)) <= NAME_MAX else None


def _without_links(store: Path) -> Path:
    """Return the path of *store* by way of real directories."""
    return Path(os.path.realpath(store.parent), store.name)


def _can_hold(parent: Path, tree: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    writable = os.access(parent, os.W_OK | os.X_OK, effective_ids=effective)
    return writable and parent.stat().st_dev == tree.stat().st_dev


def _is_ours(store: Path) -> bool:
    """Tell whether a store is there. Raises TreeError if it is somebody else's: what is in it would be believed."""
    try:
        status = os.lstat(store)
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        problem = "stands where a directory is saved to, but was not made by this user"
        raise TreeError(shown(store), problem, "Find out who made it, and remove it")
    return True
