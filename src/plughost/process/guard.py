"""The guard: a small process that outlives a killed host just long enough to end its plugins.

Theory of operation. Nothing a process can ask of the kernel makes its grandchildren die with it: PDEATHSIG
reaches children only, and fires when the spawning *thread* ends. So before its first plugin a host starts
one guard, which watches the host through a pidfd and a pipe. When the host is gone, however it went, the
guard ends every process group it was told of and every process that carries the host's marker, looks again for
a few seconds for one that was being started just then, and ends itself. It is told before a plugin is reaped, so a
recycled group is never signalled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ..errors import Unsupported
from .environment import MARKER

PROGRAM = str(Path(__file__).with_name("guard_main.py"))
QUIT_S = 5.0  # for the kernel to take away a killed guard


class Guard:
    """The host's end of its guard."""

    __slots__ = ("_pid", "_popen", "_wire")

    def __init__(self, marker: str) -> None:
        if not sys.executable:
            raise Unsupported("this Python does not know its own interpreter, so no guard can be started")
        read, self._wire = os.pipe()
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-I", "-S", PROGRAM, str(os.getpid()), f"{MARKER}={marker}."],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            os.close(self._wire)
            raise
        finally:
            os.close(read)
        os.set_blocking(self._wire, False)
        self._pid = os.getpid()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def tell_started(self, group: int) -> None:
        self._tell(b"+%d\n" % group)

    def tell_ended(self, group: int) -> None:
        self._tell(b"-%d\n" % group)

    def close(self) -> None:
        """Send the guard home: every plugin has ended. In a forked copy of the host, only let go of the pipe."""
        if self._wire < 0:
            return
        if self._pid == os.getpid():
            # Killed before it can see the pipe end: it would end the survivors that a binding allows.
            self._popen.kill()
            self._popen.wait(QUIT_S)
        else:
            self._popen.returncode = 0  # so that its destructor does not wait for a stranger's child
        os.close(self._wire)
        self._wire = -1

    def _tell(self, line: bytes) -> None:
        with suppress(OSError):  # a guard that is gone, or a full pipe: the marker still finds everything
            os.write(self._wire, line)
