"""The seam under everything that starts processes: local ones today, others tomorrow, fakes in tests."""

from __future__ import annotations

from typing import Protocol

from ..autopsy import ExitStatus, Survivor
from ..contracts.base import Channel
from ..manifest.binding import Binding

READ_SIZE = 65_536  # bytes: larger reads are served by mmap and cost twenty times as much


class Process(Protocol):
    """A started plugin: three pipes, or five, and an exit, each watched by itself.

    Nothing blocks. Exit and end of file are separate news: a dead plugin's grandchild may hold its pipes,
    and a living plugin may close them.
    """

    @property
    def pid(self) -> int: ...

    @property
    def command(self) -> tuple[str, ...]: ...

    @property
    def exit_fd(self) -> int | None:
        """A descriptor that becomes readable when the process ends; None where the system has none."""

    def fileno(self, channel: Channel) -> int:
        """Return our end of *channel*, or -1 once it is closed."""

    def read(self, channel: Channel, size: int = READ_SIZE) -> bytes | None:
        """Return what there is, at most *size* bytes; b"" for the end of file, or None for nothing yet."""

    def write(self, data: bytes | memoryview, channel: Channel = Channel.STDIN) -> int:
        """Write what fits now and return how much that was. Raises BrokenPipeError if nobody reads."""

    def unread(self) -> int:
        """Return how many bytes of its stdin the plugin has not read yet; 0 where nobody can tell."""

    def close(self, channel: Channel) -> None: ...

    def peak_memory_kib(self) -> int | None:
        """Return the most memory it has held so far, itself and without its children; None if nobody can tell."""

    def has_exited(self) -> bool:
        """Tell whether it has ended, without taking it from the process table."""

    def send_signal(self, number: int) -> None:
        """Signal the whole process group. A group that is gone is no error."""

    def begin_search(self, *, held: bool) -> int | None:
        """Begin to look for what outlived the ended process. *held* says that a pipe has not reached its end.

        Returns a descriptor that becomes readable when the search is over; None if it is over already, as it is
        where nothing was found.
        """

    def find_survivors(self, *, held: bool) -> list[Survivor]:
        """Return what outlived the ended process, and end it unless the binding allows survivors.

        Waits for the search if it has begun and is not over: that may take seconds.
        """

    def reap(self) -> ExitStatus:
        """Take the ended process from the process table, and say how it ended."""

    def dispose(self) -> None:
        """Close every descriptor that is still open. Idempotent."""


class Launcher(Protocol):
    """Starts plugins."""

    def launch(self, binding: Binding) -> Process:
        """Start the plugin that *binding* names. Raises OSError or Unsupported if it cannot."""

    def diagnose(self, binding: Binding, error: Exception) -> str:
        """Say in a sentence why *error* happened."""

    def close(self) -> None:
        """Let go of what the launcher itself keeps. Plugins must have ended before."""
