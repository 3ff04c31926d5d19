"""`plughost explain`: what a failure code means, from the one table that everything else uses too."""

from __future__ import annotations

import click

from .. import options
from ..terminal import Terminal


def complete_code(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Offer the nine codes."""
    from ....failures import FailureCode

    return [code.value for code in FailureCode if code.value.startswith(incomplete)]


@click.command("explain", short_help="Say what a failure code means and what to do.")
@click.argument("code", required=False, shell_complete=complete_code)
@options.as_json
def command(code: str | None, as_json: bool) -> None:
    """Say what CODE means, what usually causes it, and what to do next. Without CODE, list all nine."""
    from ....failures import EXPLANATIONS, FailureCode

    terminal = Terminal(as_json=as_json)
    if code is not None and code not in list(FailureCode):
        raise click.UsageError(f"There is no code {code!r}. The codes are: {', '.join(FailureCode)}.")
    chosen = [FailureCode(code)] if code is not None else list(FailureCode)
    terminal.data(
        {
            "ok": True,
            "codes": [
                {
                    "code": each.value,
                    "exit_status": EXPLANATIONS[each].exit_status,
                    "meaning": EXPLANATIONS[each].meaning,
                    "causes": list(EXPLANATIONS[each].causes),
                    "hint": EXPLANATIONS[each].hint,
                }
                for each in chosen
            ],
        }
    )
    if code is None:
        rows = [(each, str(EXPLANATIONS[each].exit_status), EXPLANATIONS[each].meaning) for each in chosen]
        terminal.table(("code", "exit", "meaning"), rows)
        terminal.text(
            "\nExit 1 is the plugin's own error; 2 a wrong command line or input; 3 a wrong binding."
        )
        return
    found = EXPLANATIONS[chosen[0]]
    terminal.heading(f"{code}  (exit status {found.exit_status})")
    terminal.text(f"{found.meaning}\n\nUsual causes:")
    for cause in found.causes:
        terminal.text(f"  - {cause}")
    terminal.text(f"\nNext step: {found.hint}".replace("{plugin}", "PLUGIN"))
