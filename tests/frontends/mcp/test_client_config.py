"""What clients are told about the server: ready to be pasted, and right from anywhere."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from plughost.frontends.cli.main import plughost
from plughost.frontends.mcp.client_config import CLIENTS, TOKEN_VARIABLE, own_command


def printed(*words: str) -> str:
    result = CliRunner().invoke(plughost, ["mcp", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def server(client: str, *words: str) -> dict:
    """Return what *client* is told, parsed as it would."""
    text = printed(*words, "--print-config", client)
    if client == "codex":
        return tomllib.loads(text)["mcp_servers"]["plughost"]
    return json.loads(text)["servers" if client == "vscode" else "mcpServers"]["plughost"]


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_to_start_this_plughost_from_anywhere(client, tmp_path, monkeypatch):
    place = tmp_path / 'a "quoted" place'
    place.mkdir()
    monkeypatch.chdir(place)
    told = server(client, "--worker", sys.executable, "--no-plugins", "--output-dir", "out")
    assert [told["command"], *told["args"]] == [
        *own_command(),
        "mcp",
        "--cwd",
        str(place),
        "--worker",
        os.path.abspath(sys.executable),
        "--output-dir",
        str(place / "out"),
        "--no-plugins",
    ]
    assert Path(told["command"]).is_absolute()
    assert os.access(told["command"], os.X_OK)


@pytest.mark.parametrize("client", sorted(set(CLIENTS) - {"claude-desktop"}))
def test_over_http_each_client_is_told_the_address_and_where_the_token_is(client):
    told = server(client, "--http", "8765")
    assert told["url"] == "http://127.0.0.1:8765/mcp"
    assert TOKEN_VARIABLE in json.dumps(told)
    assert TOKEN_VARIABLE not in json.dumps(server(client, "--http", "8765", "--no-token"))


@pytest.mark.parametrize(("host", "there"), [("0.0.0.0", "127.0.0.1"), ("[::]", "[::1]")])
def test_every_address_is_none_to_connect_to_and_that_is_said(host, there):
    result = CliRunner().invoke(plughost, ["mcp", "--http", f"{host}:8765", "--print-config", "cursor"])
    assert json.loads(result.stdout)["mcpServers"]["plughost"]["url"] == f"http://{there}:8765/mcp"
    assert host.strip("[]") in result.stderr


def test_a_client_that_only_starts_programs_is_told_to_start_one():
    assert "command" in server("claude-desktop", "--http", "8765")


def test_without_a_client_all_are_printed():
    text = printed("--print-config")
    assert all(client.title in text and client.file in text for client in CLIENTS.values())


@pytest.mark.parametrize(
    "words",
    [
        ["--print-config", "emacs"],
        ["--print-config", "--http", "0"],
        ["--no-repl", "--no-plugins"],
        ["--no-token"],
        ["--http", "localhost"],
        ["--http", "65536"],
        ["--http", "a:b:80"],
        ["--http", "-1"],
        ["--http", ""],
        ["--http", "１"],
        ["--cwd", "not-there"],
        ["--cwd", ""],
        ["--output-dir", " "],
        ["word"],
    ],
)
def test_wrong_words_are_refused_before_anything_is_served(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(plughost, ["mcp", *words])
    assert result.exit_code == 2, result.output


@pytest.mark.parametrize("worker", ["not-a-program-on-the-path", "./not-there", ""])
def test_a_worker_that_cannot_be_is_refused_before_anything_is_served(worker, tmp_path, monkeypatch):
    from plughost.errors import ManifestError

    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(plughost, ["mcp", "--worker", worker])
    assert isinstance(result.exception, ManifestError)


@pytest.mark.parametrize("token", ["", "short", "x" * 15, "with a blank in it", "é" * 20, "x" * 20 + "\n"])
def test_a_token_that_is_none_is_refused(token, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    result = CliRunner().invoke(plughost, ["mcp", "--http", "0"])
    assert result.exit_code == 2, result.output


def test_without_the_sdk_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "plughost.frontends.mcp.serving", raising=False)
    monkeypatch.delattr("plughost.frontends.mcp.serving", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel.server", None)
    result = CliRunner().invoke(plughost, ["mcp"])
    assert result.exit_code == 1
    assert "plughost[mcp]" in result.output
