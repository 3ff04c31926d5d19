"""A driver as the runner sees it: a child process that does a job when asked. Never trusts it to answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from .stopwatch import Marks

ROOT = Path(__file__).resolve().parent.parent
ANSWER_S = 300.0  # for one question: 500 processes on a loaded machine take a minute
LEAVE_S = 10.0  # to end after its questions have ended
# What is installed comes compiled; a working tree does once it was used, unless this says that nothing is to be kept.
UNKEPT = "PYTHONDONTWRITEBYTECODE"


class DriverFailed(Exception):
    """A driver could not do its job; the message says why."""


class Driver:
    """One driver process, started when it is first asked."""

    def __init__(
        self,
        python: str,
        module: str,
        arguments: tuple[str, ...] = (),
        environment: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._command = [python, "-m", module, *arguments]
        ours = {name: value for name, value in os.environ.items() if name != UNKEPT}
        self._environment = ours | dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`; a pipe unread would stop a talkative peer

    def ask(self, job: str, times: int) -> list[Marks]:
        """Have *job* done *times* times and return what was measured. Raises DriverFailed."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(f"{job} {times}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            raise DriverFailed(self._last_words()) from None
        answer = self._answer(process)
        if "error" in answer:
            raise DriverFailed(answer["error"])
        samples: list[Marks] = answer["samples"]
        return samples

    def close(self) -> None:
        """End the driver, and with it whatever it has started."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has died already, with something unsaid
            self._process.stdin.close()
        try:
            self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, stdin=pipe, stdout=pipe, stderr=self._stderr
            )
        return self._process

    def _answer(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], ANSWER_S)
        if not ready:
            process.kill()
            raise DriverFailed(f"no answer within {ANSWER_S:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise DriverFailed(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        assert self._process is not None
        self._process.wait(LEAVE_S)
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"the driver ended with {self._process.returncode}"
