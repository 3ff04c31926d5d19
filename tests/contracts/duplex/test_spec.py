"""The contract names every method that there is, and what ABI version 2 has said stays. It may only grow."""

from pathlib import Path

import msgspec
import pytest

from plughost.capabilities.grants import Capability
from plughost.contracts.duplex import messages
from plughost.messages import jsonrpc

SPEC = (Path(messages.__file__).parent / "SPEC.md").read_text(encoding="utf-8")

# Of each method: its parameters and its result, those that may be left out with a question mark; None: a notification.
TO_PLUGIN = {
    "plugin/init": (
        "manifest_path granted_capabilities abi_version config? host?",
        "name? version? manifest? abi_version?",
    ),
    "plugin/shutdown": ("", ""),
    "plugin/render": ("viewport generation?", "buffer redraw? captures_text?"),
    "plugin/handle_event": ("topic payload", None),
    "plugin/handle_key": ("screen_id key generation", None),
    "plugin/cli_dispatch": ("namespace argv", "stdout stderr exit_code"),
    "host/action/invoke": ("action payload timeout_ms?", "payload"),
}
TO_HOST = {
    "host/snapshot/get": ("topic", "payload? version?"),
    "host/snapshot/publish": ("topic payload", None),
    "host/snapshot/subscribe": ("topic", ""),
    "host/action/invoke": ("action payload timeout_ms?", "payload"),
    "host/log": ("level message fields?", None),
    "host/fs/read_dir": ("path", "entries"),
    "host/fs/read_file": ("path", "bytes"),
    "host/network/fetch": ("url method? body? headers?", "status headers body"),
}


def spelled(kind):
    """Return the members of *kind* as in the tables above."""
    if kind is None:
        return None
    return [
        field.encode_name if field.required else f"{field.encode_name}?"
        for field in msgspec.structs.fields(kind)
    ]


def test_every_method_is_in_the_text():
    for method in (*messages.PLUGIN_METHODS, *messages.HOST_METHODS):
        assert f"| `{method}` | " in SPEC


@pytest.mark.requirement("duplex:wire:stable")
def test_no_method_and_no_member_of_abi_version_2_is_gone_or_newly_required():
    assert messages.ABI_VERSION == 2
    for agreed, known in ((TO_PLUGIN, messages.PLUGIN_METHODS), (TO_HOST, messages.HOST_METHODS)):
        assert agreed.keys() <= known.keys()
        for method, sides in agreed.items():
            for side, kind in zip(sides, (known[method].params, known[method].result), strict=True):
                assert (side is None) is (kind is None), method
                members = spelled(kind) or []
                assert [each for each in (side or "").split() if each not in members] == [], method
                assert [each for each in members if not each.endswith("?") and each not in side.split()] == []


@pytest.mark.requirement("duplex:wire:stable")
def test_no_code_and_no_capability_of_abi_version_2_has_changed():
    codes = {
        jsonrpc.METHOD_NOT_FOUND: -32601,
        jsonrpc.INVALID_PARAMS: -32602,
        jsonrpc.CAPABILITY_DENIED: -32001,
        jsonrpc.ACTION_TIMEOUT: -32002,
        jsonrpc.MANIFEST_VALIDATION: -32003,
    }
    assert list(codes) == list(codes.values())
    known = {each.value for each in Capability}
    assert known >= {
        "read_sessions",
        "write_plugin_data",
        "event_bus",
        "network",
        "spawn_subprocess",
        "read_claude_logs",
        "read_codex_logs",
    }
