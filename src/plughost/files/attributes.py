"""What a path has beside its content: owner, mode, times and extended attributes; read, and put back in an order
in which none undoes another."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from .directories import change_mode
from .tree import Entry, Kind

_NO_XATTRS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_REFUSED = (errno.EPERM, errno.EACCES)


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


def _put_back_xattrs(fd: int, wanted: Mapping[str, bytes]) -> None:
    there = read_xattrs(fd)
    for name in there.keys() | wanted.keys():
        if there.get(name) == wanted.get(name):
            continue
        try:
            if name in wanted:
                os.setxattr(fd, name, wanted[name])
            else:
                os.removexattr(fd, name)
        except OSError as error:
            ours = name.startswith("user.")  # the others belong to the system, and often to it alone
            if error.errno not in _NO_XATTRS and (ours or error.errno not in _REFUSED):
                raise


def put_back(entry: Entry, xattrs: Mapping[str, bytes], fd: int) -> bool:
    """Give an open file or directory all that *entry* says. Returns whether its owner could be put back too."""
    status = os.fstat(fd)
    owned = True
    if (status.st_uid, status.st_gid) != (entry.uid, entry.gid):
        try:
            os.fchown(fd, entry.uid, entry.gid)
        except PermissionError:
            owned = False
    _put_back_xattrs(fd, xattrs)  # after the owner, whose change takes capabilities away
    os.fchmod(fd, mode_for(entry, owned=owned))  # after the owner, whose change takes setuid away
    os.utime(fd, ns=(status.st_atime_ns, entry.mtime_ns))
    return owned


def put_back_at(entry: Entry, name: str, directory: int) -> bool:
    """Do the same to what cannot be opened, a symlink or a special file, by its *name*; without its xattrs."""
    owned = True
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if (status.st_uid, status.st_gid) != (entry.uid, entry.gid):
        try:
            os.chown(name, entry.uid, entry.gid, dir_fd=directory, follow_symlinks=False)
        except PermissionError:
            owned = False
    if entry.kind is not Kind.SYMLINK:
        change_mode(name, mode_for(entry, owned=owned), directory)
    times = (status.st_atime_ns, entry.mtime_ns)
    os.utime(name, ns=times, dir_fd=directory, follow_symlinks=False)
    return owned


def mode_for(entry: Entry, *, owned: bool) -> int:
    """Return the mode to give. Who cannot give a program back to its owner must not make it run as another."""
    return entry.mode if owned else entry.mode & ~(stat.S_ISUID | stat.S_ISGID)
