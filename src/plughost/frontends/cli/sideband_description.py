"""A `sideband` worker to how it introduces itself, and what bounds it. Prints it.

It is started and ended once; nothing is run in it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...manifest.sideband_binding import limits_of
from .terminal import Terminal, one_line

if TYPE_CHECKING:
    from ...contracts.sideband.messages import BackendInfo
    from ...manifest.binding import Binding


def describe(terminal: Terminal, binding: Binding) -> None:
    """Start the worker of *binding*, end it, and show all that is known. Raises PluginFailure."""
    found, timings = _introduce(binding)
    own, limits = found.plughost, limits_of(binding)
    terminal.heading(one_line(f"{binding.name or own.worker or 'worker'} {own.version}".strip()))
    if binding.description:
        terminal.text(one_line(binding.description))
    terminal.fields(
        contract=binding.contract,
        language=one_line(found.language),
        worker=one_line(f"{own.worker} {own.version}".strip()) or "does not say",
        pictures="yes" if found.supports_images else "no",
        requests="told apart by ids" if own.request_ids else "without ids: their end is partly a guess",
        output="its end is marked" if own.marks else "its end is waited for",
        command=" ".join(binding.command),
        binding=binding.source,
        limits=f"{limits.handshake_s:g} s to start, {limits.timeout_s:g} s until a reply, "
        f"{limits.head_chars + limits.tail_chars} characters of it, {limits.images} pictures",
        took=", ".join(f"{stage} {took:.1f} ms" for stage, took in timings.items()),
    )
    terminal.data(
        {
            "ok": True,
            "contract": binding.contract,
            "introduction": {
                "language": found.language,
                "supports_images": found.supports_images,
                "worker": own.worker,
                "version": own.version,
                "request_ids": own.request_ids,
                "marks": own.marks,
            },
            "command": list(binding.command),
            "binding": binding.source,
            "limits": {
                "handshake_s": limits.handshake_s,
                "timeout_s": limits.timeout_s,
                "head_chars": limits.head_chars,
                "tail_chars": limits.tail_chars,
                "images": limits.images,
            },
            "timings_ms": {stage: round(took, 3) for stage, took in timings.items()},
        }
    )


def _introduce(binding: Binding) -> tuple[BackendInfo, dict[str, float]]:
    """Return who the worker says it is, and how long it took to start and to end, in milliseconds."""
    from ...blocking import Host

    began = time.perf_counter()
    with Host() as host, host.console(binding) as console:
        console.start()
        started = time.perf_counter()
        console.close()
        ended = time.perf_counter()
        assert console.backend is not None
        return console.backend, {"start": (started - began) * 1000, "end": (ended - started) * 1000}
