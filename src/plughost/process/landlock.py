"""Whether this kernel can keep a process from writing outside given directories, without privileges.

The loader does the confining, in the plugin's own process, before the plugin's first instruction (see
`loader`). Here it is only found out whether it will work, so that nobody is promised what is not kept.
"""

from __future__ import annotations

import sys
from functools import cache

CREATE_RULESET = 444  # the system call; the same number on every architecture
VERSION_FLAG = 1
LOWEST = 3  # the first version that also governs truncation; without that a file can still be emptied


@cache
def version() -> int:
    """Return the version of Landlock that the kernel speaks, 0 for none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    found: int = ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    return max(0, found)


def available() -> bool:
    """Tell whether a plugin can be confined here."""
    return version() >= LOWEST
