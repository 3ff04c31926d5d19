"""A worker that was started ahead of its turn -> the time it has used since. The time it waited is not its own."""

from __future__ import annotations

from ...process import proc_file


def used_s(pid: int) -> float:
    """Return how long process *pid* has been at work, in seconds; 0 if nobody can tell.

    Its start takes nothing but the processor, so that is how long it took, whenever it was done with it.
    """
    try:
        return int(proc_file.read(f"/proc/{pid}/schedstat").split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
