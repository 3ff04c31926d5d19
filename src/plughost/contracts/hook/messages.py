"""The wire types of `hook`: which message asks for a phase, and which one answers. Nothing else.

The types themselves are in `plughost_sdk.hook_messages`, because a plugin speaks the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

PROTOCOL = 1
FRAME_BYTES = 10_485_760  # of one message, either way; equal is allowed


class Phase(StrEnum):
    """A hook that a plugin may answer."""

    DETECT = "detect"
    PLAN = "plan"
    GENERATE = "generate"
    VALIDATE = "validate"
    PREFLIGHT = "preflight"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its result."""

    request: type[Message]
    result: type[Message]


EXCHANGES: dict[Phase, Exchange] = {
    Phase.DETECT: Exchange(wire.DetectRequest, wire.DetectResult),
    Phase.PLAN: Exchange(wire.PlanRequest, wire.PlanResult),
    Phase.GENERATE: Exchange(wire.GenerateRequest, wire.GenerateResult),
    Phase.VALIDATE: Exchange(wire.ValidateRequest, wire.ValidateResult),
    Phase.PREFLIGHT: Exchange(wire.PreflightRequest, wire.PreflightResult),
}

USUAL_ROUND = (Phase.PLAN, Phase.GENERATE)  # what a plugin expects that says nothing about it
IN_A_ROUND = (Phase.DETECT, Phase.PLAN, Phase.GENERATE, Phase.VALIDATE)  # in this order
PHASES_KEY = "plughost.phases"  # in PluginInfo.metadata: the phases it answers, separated by commas
MATRIX_KEY = "plughost.matrix"  # "native": it is given matrices as written, not one job for each row
ROUND_VARIABLE = "PLUGHOST_HOOK_ROUND"  # in its environment: the phases that this process will be asked for
DECLARED = "declared"  # its value if these are the phases that the plugin declares
