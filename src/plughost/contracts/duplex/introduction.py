"""The answer to `plugin/init`, in either dialect, to who the plugin is. Refuses one that contradicts itself.

One dialect says `name` and `version`, the other `manifest` and `abi_version`; a plugin may speak both at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from msgspec import Raw, Struct

from ...errors import RemoteProtocolError
from ...messages.jsonrpc import MANIFEST_VALIDATION, NULL, ErrorResponse, Response
from ...messages.quoting import quote
from .messages import InitResult, decode
from .scalars import U32
from .terms import Terms

V = TypeVar("V", str, int)


@dataclass(frozen=True, slots=True)
class Introduction:
    """Who a plugin says it is. Its *abi_version* is None if it does not say."""

    name: str
    version: str
    abi_version: int | None
    manifest: Raw | None = None


class _Plugin(Struct):
    """The table `[plugin]` of a manifest."""

    name: str | None = None
    version: str | None = None
    abi_version: U32 | None = None


class _Manifest(Struct):
    plugin: _Plugin


def accept(answer: Response | ErrorResponse, terms: Terms) -> Introduction:
    """Return who the plugin is, from its answer to init. Raises RemoteProtocolError if it is not who it should be."""
    if isinstance(answer, ErrorResponse):
        raise RemoteProtocolError(f"it refused plugin/init: {quote(answer.message)} ({answer.code})")
    found = read(answer.result)
    wrong = flaw(found, terms)
    if wrong is not None:
        raise RemoteProtocolError(f"{wrong} ({MANIFEST_VALIDATION})")
    # What is the same is kept once: it stays as long as the plugin.
    return replace(found, name=terms.name or found.name, version=terms.version or found.version)


def read(result: Raw) -> Introduction:
    """Return who the plugin is. Raises RemoteProtocolError if *result* does not say, or says two things."""
    said = decode(InitResult, result)
    table = _Plugin() if said.manifest == NULL else decode(_Manifest, said.manifest).plugin
    name = _agreed("name", said.name, table.name)
    version = _agreed("version", said.version, table.version)
    abi_version = _agreed("abi_version", said.abi_version, table.abi_version)
    if name is None or version is None:
        raise RemoteProtocolError(f"it does not say its {'name' if name is None else 'version'}")
    return Introduction(name, version, abi_version, None if said.manifest == NULL else said.manifest)


def flaw(found: Introduction, terms: Terms) -> str | None:
    """Return the first thing in which the plugin is not what its manifest says, or None."""
    if found.abi_version not in (None, terms.abi_version):  # one dialect does not say
        return f"its abi_version is {found.abi_version}, this host's {terms.abi_version}"
    if terms.name and found.name != terms.name:
        return f"it calls itself {quote(found.name)}, its manifest {terms.name!r}"
    if terms.version and found.version != terms.version:
        return f"it is version {quote(found.version)}, its manifest says {terms.version!r}"
    return None


def _agreed(what: str, said: V | None, in_manifest: V | None) -> V | None:
    if said is not None and in_manifest is not None and said != in_manifest:
        raise RemoteProtocolError(
            f"its {what} is {quote(str(said))}, and {quote(str(in_manifest))} in its manifest"
        )
    return in_manifest if said is None else said
