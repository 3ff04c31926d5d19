"""What a host demands of a `duplex` conversation: who the plugin is, how long things take, how much may wait."""

from __future__ import annotations

from dataclasses import dataclass, field

from .lanes import Bounds
from .messages import ABI_VERSION, FRAME_BYTES, VALUES


@dataclass(frozen=True, slots=True)
class Terms:
    """What the host demands of a conversation. Seconds, bytes and numbers."""

    name: str = ""  # of the manifest; empty accepts any
    version: str = ""  # of the manifest; empty accepts any
    abi_version: int = ABI_VERSION
    handshake_s: float = 10.0  # from the start to the answer to init
    write_s: float | None = 2.0  # for what is handed out at once to be written; longer, and it does not read
    ack_s: float = 1.0  # for the answer to shutdown; then its input is closed all the same
    frame_bytes: int = FRAME_BYTES
    values: int = VALUES  # of one message of the plugin
    reverse_calls: int = 4_096  # of the plugin, not answered or not written yet; more are refused
    bounds: Bounds = field(default_factory=Bounds)
