"""Our end of a plugin's input -> whether the plugin has closed the other one. Writes nothing."""

from __future__ import annotations

import select


def is_closed(fd: int) -> bool:
    """Tell whether nobody can read what is written to the pipe *fd* any more; of one that is closed here, no."""
    if fd < 0:
        return False
    poll = select.poll()
    poll.register(fd, 0)  # which tells of nothing but that
    return bool(poll.poll(0))
