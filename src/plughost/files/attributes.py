"""What a path has beside its content: owner, mode, times and extended attributes; read, and put back in an order
in which none undoes another.

What belongs to somebody else has attributes that only they may set. Those are left as they are, and that is told.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress

from .directories import change_mode
from .tree import Entry, Kind

_NO_XATTRS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_REFUSED = (errno.EPERM, errno.EACCES)
_NOT_TO_GIVE = (*_REFUSED, errno.EINVAL)  # EINVAL: an owner whom this container has no number for
_USERS, _ACLS = "user.", "system.posix_acl_"  # what the names of attributes begin with
KEPT = -1  # to chown: the owner stays


def read_xattrs(fd: int) -> dict[str, bytes]:
    """Return the extended attributes of an open file or directory, where the system has them."""
    if not hasattr(os, "listxattr"):
        return {}
    try:
        return {name: os.getxattr(fd, name) for name in os.listxattr(fd)}
    except OSError as error:
        if error.errno in _NO_XATTRS:
            return {}
        raise


def is_anothers(fd: int) -> bool:
    """Tell whether an open file or directory is somebody else's, so that we may set neither its mode nor its times.

    To be root is no answer: it may be one without capabilities, or that of a container.
    """
    if os.fstat(fd).st_uid == os.geteuid():
        return False
    if not hasattr(os, "O_NOATIME"):
        return os.geteuid() != 0
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    try:  # the kernel allows this to the very same, and a file that nobody may change makes no difference to it
        fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NOATIME)
    except PermissionError:
        return True
    fcntl.fcntl(fd, fcntl.F_SETFL, flags)
    return False


def _in_turn(name: str) -> tuple[int, str]:
    """Tell when to set an attribute: one of a user needs a file that we may write to, and an ACL may close it to us."""
    return (0 if name.startswith(_USERS) else 2 if name.startswith(_ACLS) else 1), name


def _open_up(fd: int) -> None:
    """Let its owner write to an open file or directory, if that is us; its own mode is given to it afterwards."""
    status = os.fstat(fd)
    needed = stat.S_IRWXU if stat.S_ISDIR(status.st_mode) else stat.S_IRUSR | stat.S_IWUSR
    if status.st_mode & needed != needed and not is_anothers(fd):
        os.fchmod(fd, stat.S_IMODE(status.st_mode) | needed)


def _put_back_xattrs(fd: int, wanted: Mapping[str, bytes]) -> bool:
    """Returns whether all are as they were. The mode may be another one then."""
    whole = True
    there = read_xattrs(fd)
    other = [name for name in there.keys() | wanted.keys() if there.get(name) != wanted.get(name)]
    if any(name.startswith(_USERS) for name in other):
        _open_up(fd)
    for name in sorted(other, key=_in_turn):
        try:
            if name in wanted:
                os.setxattr(fd, name, wanted[name])
            else:
                os.removexattr(fd, name)
        except OSError as error:
            # Those of a user are its owner's; the others belong to the system, and often to it alone.
            refused = error.errno in _REFUSED and (not name.startswith(_USERS) or is_anothers(fd))
            if error.errno not in _NO_XATTRS and not refused:
                raise
            whole = False
    return whole


def put_back(entry: Entry, xattrs: Mapping[str, bytes], fd: int) -> bool:
    """Give an open file or directory all that *entry* says. Returns whether nothing of it was somebody else's to give.

    Raises OSError.
    """
    status = os.fstat(fd)
    owned = _give_back(entry, status, lambda uid, gid: os.fchown(fd, uid, gid))
    whole = _put_back_xattrs(fd, xattrs)  # after the owner, whose change takes capabilities away
    try:
        mode = mode_for(entry, owned=owned)
        if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
            os.fchmod(fd, mode)  # after the owner, whose change takes setuid away
        # Of a group that we are not in, the kernel drops setgid without a word.
        whole &= stat.S_IMODE(os.fstat(fd).st_mode) == mode
        os.utime(fd, ns=(status.st_atime_ns, entry.mtime_ns))
    except PermissionError:
        if not is_anothers(fd):
            raise
        return False
    return owned and whole


def put_back_at(entry: Entry, name: str, directory: int) -> bool:
    """Do the same to what cannot be opened, a symlink or a special file, by its *name*; without its xattrs."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)

    def chown(uid: int, gid: int) -> None:
        os.chown(name, uid, gid, dir_fd=directory, follow_symlinks=False)

    owned = _give_back(entry, status, chown)
    try:
        if entry.kind is not Kind.SYMLINK:
            change_mode(name, mode_for(entry, owned=owned), directory)
        times = (status.st_atime_ns, entry.mtime_ns)
        os.utime(name, ns=times, dir_fd=directory, follow_symlinks=False)
    except PermissionError:
        if status.st_uid == os.geteuid():
            raise
        return False
    return owned


def _give_back(entry: Entry, status: os.stat_result, chown: Callable[[int, int], None]) -> bool:
    """Let its owner and its group have it, or at least its group. Returns whether both do."""
    if (status.st_uid, status.st_gid) == (entry.uid, entry.gid):
        return True
    try:
        chown(entry.uid, entry.gid)
    except OSError as error:
        if error.errno not in _NOT_TO_GIVE:
            raise
        with suppress(PermissionError):  # who shared it by way of the group shall go on to
            chown(KEPT, entry.gid)
        return False
    return True


def mode_for(entry: Entry, *, owned: bool) -> int:
    """Return the mode to give. Who cannot give a program back to its owner must not make it run as another."""
    if owned or entry.kind is Kind.DIRECTORY:  # there, such a bit hands its group on
        return entry.mode
    return entry.mode & ~(stat.S_ISUID | stat.S_ISGID)
