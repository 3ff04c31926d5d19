"""A provider in raw bytes that answers from memory: turns what it is to answer into its binding. Measures nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from plughost_sdk import hook_messages as wire

from plughost import Binding

PROGRAM = Path(__file__).with_suffix(".pl")
PERL = shutil.which("perl") or "perl"  # it starts ten times as fast as Python: twenty of them are soon there


def bind(name: str, fragment: wire.Fragment | None = None, *, wait_s: float = 0.0) -> Binding:
    """Return the provider *name*, which answers Plan with nothing, and Generate with copies of *fragment*, or none."""
    info = wire.PluginInfo(name=name, version="1.0.0", protocol=wire.PROTOCOL)
    result = wire.GenerateResult(fragments=[] if fragment is None else [fragment])
    spelled = (each.SerializeToString().hex() for each in (info, result))
    return Binding(
        name=name,
        contract="hook",
        command=(PERL, str(PROGRAM), *spelled, str(wait_s)),
        directory=PROGRAM.parent,
        cwd=PROGRAM.parent,
    )
