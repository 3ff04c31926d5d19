"""Why a `sideband` worker does not work: how it introduces itself, and what a host makes of it.

Turns a binding into findings, the most basic first. That its program is there was looked at before.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..contracts.sideband import messages as wire
from ..errors import PlughostError
from ..failures import PluginFailure
from ..host.sideband.reply import Reply, ReplyState
from ..manifest import sideband_binding
from ..manifest.binding import Binding
from ..manifest.sideband_snippets import Snippets
from ..messages.quoting import quote
from ..process.launcher import Launcher
from ..process.stderr import printable
from . import sideband_languages as languages
from .doctor import Finding
from .sideband_talk import Patience, Talk

SHOWN = 200  # characters of what it says
WORD = "plughost0000word"
DESCRIPTORS = (
    f"It must take its descriptors from {wire.READ_FD} and {wire.WRITE_FD}, and say backend_info there."
)


def examine(binding: Binding, launcher: Launcher) -> Iterator[Finding]:
    """Yield what is found about *binding*, ending with the first problem that makes the rest meaningless."""
    limits = sideband_binding.limits_of(binding)
    try:
        with Talk(launcher, binding, "started", Patience(hello_s=limits.handshake_s)) as talk:
            talk.begin()
            found = list(_first_look(talk, limits.handshake_s))
    except OSError as error:
        found = [Finding(False, launcher.diagnose(binding, error), "Mend `command` in the binding.")]
    yield from found
    if all(each.ok for each in found):
        assert talk.backend is not None
        yield from _with_a_host(binding, languages.snippets(talk.backend.language, binding.check))


def _first_look(talk: Talk, within: float) -> Iterator[Finding]:
    """Say how it introduces itself."""
    for flaw in talk.flaws:
        yield Finding(False, flaw.what, "The sideband carries messages of the contract only, one a line.")
    info = talk.backend
    if info is None:
        yield _silence(talk, within)
        return
    marks = " and marks" if info.plughost.marks else ""
    kind = (
        f"with ids{marks}" if info.plughost.request_ids else "without ids: when a request is over is a guess"
    )
    yield Finding(True, f"it introduces itself: {quote(info.language)}, {kind}")


def _silence(talk: Talk, within: float) -> Finding:
    probe = talk.probe
    if probe.exit is None and probe.is_silent:
        return Finding(False, "it closes the sideband", DESCRIPTORS)
    if probe.exit is not None:
        said = printable(bytes(probe.stderr[-SHOWN:])).strip() or "nothing"
        advice = "Run the command by hand to see more."
        if b"ModuleNotFoundError" in probe.stderr:
            advice = "Install what it lacks in the interpreter that `command` names."
        return Finding(False, f"it ended with {probe.exit.meaning}, saying: {said}", advice)
    if b'"backend_info"' in probe.stdout:
        return Finding(False, "it introduces itself on its standard output", DESCRIPTORS)
    return Finding(False, f"it said nothing over the sideband for {within:g} s", DESCRIPTORS)


def _with_a_host(binding: Binding, snippets: Snippets) -> Iterator[Finding]:
    """Let the real host run something, and end it."""
    from ..blocking import Host

    with Host() as host:
        try:
            with host.console(binding) as console:
                console.start()
                yield Finding(True, "a host can start it")
                if not snippets.echo:
                    advice = "`echo` in the table [check] of its binding would let it be tried."
                    yield Finding(True, "nothing was run: no code in its language is known", advice)
                    return
                reply = console.run(snippets.echo.replace("{text}", WORD))
                yield _ran(reply)
        except PluginFailure as failure:
            yield Finding(False, f"{failure.code}: {failure.message}", failure.hint)
        except PlughostError as error:
            yield Finding(False, str(error), "`plughost check` says more.")


def _ran(reply: Reply) -> Finding:
    advice = "`plughost check` says more."
    if reply.failure is not None:
        return Finding(False, f"{reply.failure.code}: {reply.failure.message}", reply.failure.hint)
    if reply.state is not ReplyState.READY:
        return Finding(False, f"code that prints a word is not over: it is {reply.state.value}", advice)
    if WORD not in reply.text:
        return Finding(False, f"code that prints a word shows {quote(reply.text[:SHOWN])}", advice)
    return Finding(True, f"it runs code, in {reply.elapsed_ms:.1f} ms")
