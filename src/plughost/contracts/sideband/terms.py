"""What a host demands of a `sideband` conversation: how long things take, how much is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from .messages import LINE_BYTES
from .timeline import Budget


@dataclass(frozen=True, slots=True)
class Windows:
    """How long a request of a worker without marks may still say something after its end. Seconds.

    They are the contract's own: long enough for what is in a pipe, too short to be noticed.
    """

    told_quiet_s: float = 0.010  # nothing more on the sideband
    told_most_s: float = 0.030
    output_quiet_s: float = 0.015  # nothing more on stdout and stderr
    output_most_s: float = 0.120


@dataclass(frozen=True, slots=True)
class Terms:
    """What the host demands of a conversation. Seconds and bytes."""

    handshake_s: float = 10.0  # from the start to backend_info
    first_prompt_s: float = 0.5  # from backend_info to the first prompt, of a worker that shows one
    prompt_quiet_s: float = 0.010  # behind that prompt: some workers show two at once
    lead_s: float = 0.005  # from an announcement to its input, for a worker without ids
    ask_s: float = 0.020  # a read without ids that is not over by then waits for input
    mark_s: float = 2.0  # from request_end, or the last output since, to the marks that it promised
    exit_s: float = 0.5  # from the end of the sideband to the exit
    end_s: float = 0.5  # for session_end to be written; then its input is closed all the same
    echoes: bool = False  # its input is a terminal, which writes what it reads to its output
    line_bytes: int = LINE_BYTES
    budget: Budget = field(default_factory=Budget)
    windows: Windows = field(default_factory=Windows)
