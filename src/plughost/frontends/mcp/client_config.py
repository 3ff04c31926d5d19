"""How a server is started, or reached -> what common clients want to read about it. Needs no SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = "plughost"
TOKEN_VARIABLE = "PLUGHOST_MCP_TOKEN"  # noqa: S105  the name of a variable


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client gets to the server: it runs *command*, or connects to *url*, with a token if it is *guarded*."""

    command: tuple[str, ...]
    url: str | None = None
    guarded: bool = True


@dataclass(frozen=True, slots=True)
class Client:
    """A client: where its configuration is, and how it is spelled."""

    title: str
    file: str
    spell: Callable[[Connection], str]


def own_command() -> tuple[str, ...]:
    """Return the words that start this plughost, from anywhere."""
    script = Path(sys.executable).absolute().parent / "plughost"
    return (str(script),) if script.is_file() else (sys.executable, "-m", "plughost")


def _json(key: str, token: str, *, typed: bool) -> Callable[[Connection], str]:
    """Return a speller: servers are under *key*, say their type if *typed*, and *token* is how it is spelled there."""

    def spell(connection: Connection) -> str:
        entry: dict[str, Any]
        if connection.url is None:
            entry = {"type": "stdio"} if typed else {}
            entry |= {"command": connection.command[0], "args": list(connection.command[1:])}
        else:
            entry = {"type": "http"} if typed else {}
            entry |= {"url": connection.url}
            if connection.guarded:
                entry |= {"headers": {"Authorization": f"Bearer {token}"}}
        return json.dumps({key: {SERVER: entry}}, indent=2, ensure_ascii=False)

    return spell


def _bridged(connection: Connection) -> str:
    """Spell it for a client that only starts programs."""
    return _json("mcpServers", "", typed=False)(Connection(connection.command))


def _toml(connection: Connection) -> str:
    lines = [f"[mcp_servers.{SERVER}]"]
    if connection.url is None:
        lines += [f"command = {_word(connection.command[0])}", f"args = {_words(connection.command[1:])}"]
    else:
        lines.append(f"url = {_word(connection.url)}")
        if connection.guarded:
            lines.append(f"bearer_token_env_var = {_word(TOKEN_VARIABLE)}")
    return "\n".join(lines)


def _word(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # else a JSON text is a TOML text


def _words(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_word, texts))}]"


CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        ".mcp.json in the project",
        _json("mcpServers", f"${{{TOKEN_VARIABLE}}}", typed=True),
    ),
    "claude-desktop": Client("Claude Desktop", "claude_desktop_config.json", _bridged),
    "codex": Client("Codex", "~/.codex/config.toml", _toml),
    "cursor": Client(
        "Cursor",
        ".cursor/mcp.json in the project",
        _json("mcpServers", f"${{env:{TOKEN_VARIABLE}}}", typed=False),
    ),
    "vscode": Client(
        "VS Code",
        ".vscode/mcp.json in the project",
        _json("servers", f"${{env:{TOKEN_VARIABLE}}}", typed=True),
    ),
}
