"""`plughost lint`: what is wrong with an `envelope` plugin, found without running it."""

from __future__ import annotations

from pathlib import Path

import click

from .. import options
from ..terminal import EXIT_OK, Terminal, one_line

EXIT_WARNINGS = 1
EXIT_ERRORS = 2


@click.command("lint", short_help="Check an envelope plugin's manifest and sources, without running them.")
@click.argument("directory", type=options.NamedPath())
@click.option("--strict", is_flag=True, help="Take warnings as errors.")
@options.as_json
def command(directory: Path, strict: bool, as_json: bool) -> None:
    """Check the plugin in DIRECTORY, or each plugin in a directory below it, without running any.

    Exit status: 0 if all is well, 1 with warnings, 2 with errors, 3 if DIRECTORY holds no plugin.
    """
    from ....conformance.lint import lint
    from ....conformance.lint_report import Severity

    terminal = Terminal(as_json=as_json)
    report = lint(directory, strict=strict)
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    terminal.data({"ok": not errors, **report.to_dict()})
    for plugin in report.plugins:
        terminal.heading(one_line(f"{plugin.name}: {plugin.path}"))
        for finding in plugin.findings:
            field = f"{finding.field}: " if finding.field else ""
            terminal.text(
                one_line(f"  {finding.severity.value:7}  {finding.code:14}  {field}{finding.message}")
            )
        if not plugin.findings:
            terminal.text("  nothing wrong")
    terminal.text(f"plugins: {len(report.plugins)}, errors: {errors}, warnings: {warnings}")
    terminal.exit(EXIT_ERRORS if errors else EXIT_WARNINGS if warnings else EXIT_OK)
