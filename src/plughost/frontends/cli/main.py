"""`plughost`: wires the commands together. Imports none of them until it is used."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from ... import __version__
from ...errors import FragmentError, LocalProtocolError, ManifestError, PlughostError, TreeError
from ...failures import EXPLANATIONS, PluginFailure
from .terminal import EXIT_BINDING, EXIT_INTERNAL, EXIT_REMOTE_ERROR, Terminal

# Name -> what it does, in the order of a newcomer's day. The help of each command is in its own file.
COMMANDS = {
    "demo": "Run one bundled plugin of each contract and show what came back.",
    "new": "Write a plugin that passes `check` at once.",
    "list": "Show the plugins that are there.",
    "describe": "Shake hands with a plugin and show what it says about itself.",
    "call": "Call a tool of an `execute` plugin.",
    "transform": "Run envelope plugins over the files of a directory.",
    "generate": "Run hook providers over a pipeline file and write what they generate.",
    "preflight": "Ask a hook plugin whether a job should run.",
    "screen": "Show a plugin's screen.",
    "cli": "Run a command that a plugin provides.",
    "console": "Run code in a session of its own process.",
    "mcp": "Serve code sessions and `execute` plugins to an agent.",
    "check": "Check a plugin against its contract, clause by clause.",
    "lint": "Check an envelope plugin's manifest and sources, without running them.",
    "simulate": "Show what a restart policy makes of a plugin that fails.",
    "explain": "Say what a failure code means and what to do.",
    "doctor": "Find out why a plugin does not work.",
    "completion": "Print what a shell needs to complete our commands.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"plughost.frontends.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} There are: {', '.join(COMMANDS)}.", ctx) from error


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="plughost")
@click.pass_context
def plughost(ctx: click.Context) -> None:
    """Run anyone's plugin in its own process.

    PLUGIN is a directory that holds a plugin.toml, a manifest.yml or a manifest.toml, or a name in plughost.toml.
    Without any file: `--contract execute -- COMMAND…`.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str] | None = None) -> None:
    """The program's entry: everything that plughost raises becomes a sentence and an exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        plughost.main(args=words, prog_name="plughost", obj=_split(words), standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.ClickException as error:
        if "--json" in words:
            Terminal(as_json=True).data({"ok": False, "usage": error.format_message()})
        else:
            error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        Terminal(as_json="--json" in words).data({"ok": False, "problem": "interrupted"})
        sys.exit(130)
    except PlughostError as error:
        sys.exit(report(Terminal(as_json="--json" in words), error))
    except OSError as error:
        sys.exit(_system_error(Terminal(as_json="--json" in words), error))
    except Exception as error:  # a bug of ours: still one object, and a status that no plugin's error has
        Terminal(as_json="--json" in words).data({"ok": False, "problem": f"a bug in plughost: {error!r}"})
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(EXIT_INTERNAL)
    finally:
        _flush()


def _system_error(terminal: Terminal, error: OSError) -> int:
    """Tell an error of the system: a file that cannot be written, a disk that is full."""
    if isinstance(error, FileNotFoundError) and _is_homeless():
        return report(terminal, TreeError(".", "the working directory is gone", "Change to another"))
    problem = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    with suppress(OSError):
        terminal.data({"ok": False, "problem": problem})
        terminal.error(problem)
    return EXIT_INTERNAL


def _is_homeless() -> bool:
    """Tell whether the working directory was removed: whatever is relative to it is not there then."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _flush() -> None:
    """Write what is left now: at interpreter exit an error would be a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def report(terminal: Terminal, error: PlughostError) -> int:
    """Tell *error* to whoever is there, and return the exit status that goes with it."""
    if isinstance(error, PluginFailure):
        terminal.data({"ok": False, "failure": error.to_dict()})
        if not terminal.as_json:
            terminal.error(f"{error.plugin}: {error.message}  [{error.code}]")
            for line in error.autopsy.lines():
                terminal.note(line)
        return EXPLANATIONS[error.code].exit_status
    if isinstance(error, ManifestError):
        detail = {"file": error.source, "key": error.key, "problem": error.problem, "remedy": error.remedy}
        terminal.data({"ok": False, "binding": detail})
        if not terminal.as_json:
            where = f"{error.source}: {error.key}" if error.key else error.source
            terminal.error(f"{where}: {error.problem}", f"{error.remedy}." if error.remedy else "")
        return EXIT_BINDING
    if isinstance(error, TreeError):
        detail = {"path": error.path, "problem": error.problem, "remedy": error.remedy}
        terminal.data({"ok": False, "tree": detail})
        if not terminal.as_json:
            terminal.error(f"{error.path}: {error.problem}", f"{error.remedy}.")
        return EXIT_BINDING
    if isinstance(error, FragmentError):
        detail = {
            "plugin": error.plugin,
            "path": error.path,
            "problem": error.problem,
            "remedy": error.remedy,
        }
        terminal.data({"ok": False, "fragment": detail})
        if not terminal.as_json:
            where = f"{error.plugin}: {error.path}" if error.path else error.plugin
            terminal.error(f"{where}: {error.problem}", f"{error.remedy}. Nothing was written.")
        return EXIT_REMOTE_ERROR
    terminal.data({"ok": False, "problem": str(error)})
    if not terminal.as_json:
        terminal.error(str(error))
    return EXIT_BINDING if isinstance(error, LocalProtocolError) else EXIT_INTERNAL


def _split(words: list[str]) -> list[str]:
    """Take the plugin's own command line, after `--`, out of *words*, and return it."""
    if "--" not in words or words[0] == "cli":  # after its namespace all words are the plugin's
        return []
    at = words.index("--")
    command = words[at + 1 :]
    if any(word == "--contract" or word.startswith("--contract=") for word in words[:at]):
        del words[at:]
        return command
    return []
