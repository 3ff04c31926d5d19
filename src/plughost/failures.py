"""The nine failure codes and what each one means: exit status, meaning and next step, in one table.

Everything that explains a failure reads this table: the exceptions, the command line's exit status,
`plughost explain` and the reference page. It says nothing about how a failure is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from .autopsy import Autopsy
from .autopsy import Stage as Stage
from .errors import PlughostError


class FailureCode(StrEnum):
    """Every way in which a plugin can fail, in any contract."""

    LAUNCH_FAILED = "launch_failed"
    HANDSHAKE_FAILED = "handshake_failed"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MALFORMED_RESPONSE = "malformed_response"
    TOOL_NOT_EXPOSED = "tool_not_exposed"
    PROTOCOL_VERSION_MISMATCH = "protocol_version_mismatch"
    CAPABILITY_NOT_DECLARED = "capability_not_declared"
    CAPABILITY_NOT_ALLOWED = "capability_not_allowed"


class PluginFailure(PlughostError):
    """A plugin failed. `code` says how, `autopsy` says everything that is known, `hint` what to do next.

    `answer` is set when the plugin had answered before it failed, for instance by a bad exit status.
    """

    code: ClassVar[FailureCode]

    def __init__(self, plugin: str, message: str, autopsy: Autopsy, answer: Any = None) -> None:
        super().__init__(f"{plugin}: {message} ({self.code})")
        self.plugin = plugin
        self.message = message
        self.autopsy = autopsy
        self.answer = answer

    def __reduce__(self) -> tuple[type[PluginFailure], tuple[str, str, Autopsy, Any]]:
        return type(self), (self.plugin, self.message, self.autopsy, self.answer)

    @property
    def stage(self) -> Stage:
        return self.autopsy.stage

    @property
    def hint(self) -> str:
        return self.autopsy.hint

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as JSON-ready values."""
        found = self.autopsy.to_dict()
        return {"code": str(self.code), "plugin": self.plugin, "message": self.message, **found}


class LaunchFailed(PluginFailure):
    """The program could not be started."""

    code = FailureCode.LAUNCH_FAILED


class HandshakeFailed(PluginFailure):
    """It started, but did not introduce itself properly."""

    code = FailureCode.HANDSHAKE_FAILED


class PluginTimeout(PluginFailure):
    """It did not answer, or did not end, in time."""

    code = FailureCode.TIMEOUT


class PluginCrashed(PluginFailure):
    """It ended without a valid answer, or badly after one."""

    code = FailureCode.CRASHED


class MalformedResponse(PluginFailure):
    """What it wrote is not a message of the contract."""

    code = FailureCode.MALFORMED_RESPONSE


class ToolNotExposed(PluginFailure):
    """It has no such tool."""

    code = FailureCode.TOOL_NOT_EXPOSED


class ProtocolVersionMismatch(PluginFailure):
    """It speaks another version of the protocol."""

    code = FailureCode.PROTOCOL_VERSION_MISMATCH


class CapabilityNotDeclared(PluginFailure):
    """It does not properly say which of the granted capabilities it wants."""

    code = FailureCode.CAPABILITY_NOT_DECLARED


class CapabilityNotAllowed(PluginFailure):
    """It asks for a capability that its binding does not grant."""

    code = FailureCode.CAPABILITY_NOT_ALLOWED


@dataclass(frozen=True, slots=True)
class Explanation:
    """One row of the table. *hint* may use {plugin} and {command}."""

    failure: type[PluginFailure]
    exit_status: int
    meaning: str
    causes: tuple[str, ...]
    hint: str


EXPLANATIONS: dict[FailureCode, Explanation] = {
    FailureCode.LAUNCH_FAILED: Explanation(
        LaunchFailed,
        10,
        "The plugin's program could not be started.",
        (
            "the command does not exist, is a directory, or is not executable",
            "the script's #! line names an interpreter that is not there",
            "the program is for another processor",
            "the working directory does not exist",
            "a limit of the binding could not be set",
        ),
        "Check `command` and `cwd` in the binding; `plughost doctor {plugin}` looks at them for you.",
    ),
    FailureCode.HANDSHAKE_FAILED: Explanation(
        HandshakeFailed,
        11,
        "The plugin started, but its introduction is not a valid handshake.",
        (
            'the reply\'s `type` is not "handshake"',
            "`plugin_id`, `plugin_version` or `exposed_tools` is empty",
            "`plugin_id` is not the name in the binding",
        ),
        "Compare the plugin's manifest with the binding: `plughost check {plugin}` names the first difference.",
    ),
    FailureCode.TIMEOUT: Explanation(
        PluginTimeout,
        12,
        "The plugin did not answer, or did not end, in time. It was stopped.",
        (
            "it waits for input that never comes, or for a network",
            "it does not read its standard input",
            "it buffers its reply: flush after each line",
            "the work needs longer than the limit",
        ),
        "Raise `limits.timeout_s` in the binding if the work needs longer; its stderr may tell where it stopped.",
    ),
    FailureCode.CRASHED: Explanation(
        PluginCrashed,
        13,
        "The plugin ended, or closed its output, without a valid answer; or it answered and then ended badly.",
        (
            "an uncaught exception: the last stderr lines show it",
            "a signal: segmentation fault, out of memory, or a limit of the binding",
            "it answered but exited with a status other than 0, or did not exit at all",
        ),
        "Read the exit status and the last stderr lines; run the plugin's command by hand to see it fail.",
    ),
    FailureCode.MALFORMED_RESPONSE: Explanation(
        MalformedResponse,
        14,
        "The plugin wrote something that is not a message of the contract.",
        (
            "it prints logs to stdout: they belong to stderr",
            "the line is not one whole JSON object, is not UTF-8, or is too long",
            '`type`, `request_id` or `status` is wrong, or an "ok" carries an `error`',
        ),
        "Write only protocol lines to stdout and everything else to stderr; the autopsy shows the line received.",
    ),
    FailureCode.TOOL_NOT_EXPOSED: Explanation(
        ToolNotExposed,
        15,
        "The plugin has no tool of that name.",
        ("a typing error in the tool's name", "an older or newer version of the plugin"),
        "`plughost describe {plugin}` lists its tools.",
    ),
    FailureCode.PROTOCOL_VERSION_MISMATCH: Explanation(
        ProtocolVersionMismatch,
        16,
        "The plugin speaks another version of the protocol.",
        ("the plugin was built for another host version",),
        "Install a build of {plugin} for this protocol version, or upgrade plughost.",
    ),
    FailureCode.CAPABILITY_NOT_DECLARED: Explanation(
        CapabilityNotDeclared,
        17,
        "The binding grants capabilities, and the plugin does not properly declare which of them it wants.",
        (
            "the manifest has no `capabilities`",
            "a declared capability is empty, padded with blanks, or listed twice",
        ),
        "Let the plugin list the capabilities it uses, or take `capabilities.allow` out of the binding.",
    ),
    FailureCode.CAPABILITY_NOT_ALLOWED: Explanation(
        CapabilityNotAllowed,
        18,
        "The plugin asks for a capability that its binding does not grant. It was stopped before any call.",
        ("the binding's allow-list is shorter than what the plugin declares",),
        "If you trust {plugin} with it, add the capability to `capabilities.allow` in its binding.",
    ),
}
