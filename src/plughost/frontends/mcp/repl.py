"""The tool `repl`: named sessions of code, each with its own worker. Checks what an agent sends before it is run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from mcp_types import CallToolResult, Tool, ToolAnnotations

from ...errors import LocalProtocolError
from ...host.asyncio_host import Host
from ...host.sideband.asyncio_console import AsyncConsole
from ...manifest.binding import Binding
from ...manifest.sideband_binding import limits_of
from . import content
from .call import Progress, carried_out
from .delivery import Delivery
from .output_files import OutputFiles
from .session import Session, Turn, check_name

NAME = "repl"
SESSION = "main"
SESSIONS = 16  # each is a process: more than an agent has use for, and fewer than a machine can bear
REPLY_MS = 30_000  # common clients give up, and cancel, after 60 s
LONGEST_MS = 86_400_000  # a day
# An agent reads all that it is shown, and pays for it. A screenful, some 1 200 tokens; the beginning says more.
HEAD_CHARS = 2_600
TAIL_CHARS = 1_400

DESCRIPTION = f"""\
Run code in a persistent session and get what it shows: text and pictures in order, then a line such as [idle]. \
Variables, imports and open files stay for the next call. The value of a final expression is shown; matplotlib figures \
come as pictures. Text for stderr follows a line [stderr], and text for stdout behind it a line [stdout]. \
How things are is in the last line:
[idle] - ready for code.
[busy, 12 s: ...] - it is still running. Call again with an empty input to get what is new; other input is refused.
[waiting for input: 'prompt'] - the code reads stdin. Your next input is the line it gets.
A line that says "in-memory state lost" - the process died or was restarted: its variables are gone.
An input that begins with U+0003 interrupts what runs (variables stay), with U+0004 it restarts the session (variables \
are lost); what follows the character is run afterwards. Of long output the middle is left out, and a file with all of \
it is named. Sessions with different names share nothing; there may be {SESSIONS}."""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "input": {
            "type": "string",
            "description": "Code to run, or the line that the code waits for. Empty: get what is new, or wait for the "
            "end. Beginning with U+0003: interrupt; with U+0004: restart.",
        },
        "timeout_ms": {
            "type": "integer",
            "minimum": 0,
            "maximum": LONGEST_MS,
            "default": REPLY_MS,
            "description": "How long to wait for the end, in milliseconds. The code goes on after that; poll for it.",
        },
        "session": {
            "type": "string",
            "pattern": "^[A-Za-z0-9_.-]{1,64}$",
            "default": SESSION,
            "description": "Which session. A new name starts a new one.",
        },
    },
    "required": ["input"],
    "additionalProperties": False,
}


class Repl:
    """All sessions of a server. They end with the host."""

    def __init__(
        self,
        host: Host,
        files: OutputFiles,
        worker: Binding,
        *,
        output_directory: Path | None = None,
    ) -> None:
        self._host = host
        self._files = files
        self._worker = worker
        self._output_directory = output_directory
        self._sessions: dict[str, Session] = {}

    @property
    def tool(self) -> Tool:
        return Tool(
            name=NAME,
            title="Persistent code session",
            description=DESCRIPTION,
            input_schema=_SCHEMA,
            annotations=ToolAnnotations(
                title="Persistent code session",
                read_only_hint=False,
                destructive_hint=True,  # code may do anything that its user can
                idempotent_hint=False,
                open_world_hint=True,
            ),
        )

    async def call(
        self, arguments: Mapping[str, Any], progress: Progress, delivery: Delivery | None = None
    ) -> CallToolResult:
        """Do what *arguments* say. Cancelling interrupts what runs; that nobody waits for it any more does not.

        Raises LocalProtocolError for wrong arguments, and PluginFailure if no worker can be started.
        """
        text, timeout_ms, name = _checked(arguments)
        session = self._sessions.get(name)
        if session is None:
            check_name(name, len(self._sessions), SESSIONS)
            session = self._sessions[name] = Session(lambda: self._open(name))
        delivery = delivery or Delivery()
        session.calls += 1
        turn: Turn = await carried_out(
            session.turn(text, timeout_ms / 1000, delivery.gone),
            progress,
            session.abandon,
            session.take_back,
            partial(self._is_over, name, session),
        )
        delivery.promise(partial(session.take_back, turn))
        return content.result(turn, name, self._files)

    def _is_over(self, name: str, session: Session) -> None:
        """A call of *session* has come to its end, however: one that never began is none."""
        session.calls -= 1
        if session.is_unused and self._sessions.get(name) is session:
            del self._sessions[name]

    async def _open(self, name: str) -> AsyncConsole:
        limits = limits_of(self._worker)
        shown = msgspec.structs.replace(
            limits,
            head_chars=min(limits.head_chars, HEAD_CHARS),
            tail_chars=min(limits.tail_chars, TAIL_CHARS),
        )
        return await self._host.console(
            self._worker,
            name=name,
            limits=shown,
            output_directory=self._output_directory,
        )


def _checked(arguments: Mapping[str, Any]) -> tuple[str, int, str]:
    """Return input, timeout and session. Raises LocalProtocolError: the SDK lets any argument through."""
    unknown = sorted(set(arguments) - set(_SCHEMA["properties"]))
    if unknown:
        raise LocalProtocolError(f"{NAME} takes input, timeout_ms and session, not {unknown[0]!r}")
    if not isinstance(arguments.get("input"), str):
        raise LocalProtocolError("`input` has to be a text; an empty one polls")
    timeout_ms = arguments.get("timeout_ms", REPLY_MS)
    number = isinstance(timeout_ms, int | float) and not isinstance(timeout_ms, bool)
    if not number or not 0 <= timeout_ms <= LONGEST_MS or timeout_ms != int(timeout_ms):
        raise LocalProtocolError(f"`timeout_ms` has to be a whole number from 0 to {LONGEST_MS}")
    session = arguments.get("session", SESSION)
    if not isinstance(session, str):
        raise LocalProtocolError("`session` has to be a text")
    return arguments["input"], int(timeout_ms), session
