"""The axis "manifest round-trip": is the manifest good, and is what the plugin says at init the same?"""

from __future__ import annotations

from dataclasses import replace

from ..contracts.duplex import introduction
from ..contracts.duplex.introduction import Introduction
from ..contracts.duplex.terms import Terms
from ..manifest import duplex_manifest, duplex_text
from ..manifest.duplex_manifest import DuplexManifest
from ..messages.quoting import quote
from .duplex_examination import EVENT, KEY, Examination, key
from .verdict import UNREADABLE, Findings, Flaw, Skip

REPLY = "duplex:init:reply"
TOLD_S = 2.0  # for the answer to init of one that has had its time already
SAME = ("description", "capabilities", "provides", "subscribes", "lifecycle", "config")


def manifest(found: Examination) -> Findings:
    """Judge the manifest and the answer to init."""
    if found.subject.process is None:
        return list(found.subject.flaws)
    if not isinstance(found.introduced, Introduction):
        return [_no_introduction(found, found.introduced)]
    return _said(found, found.introduced) or _written(found)


def _no_introduction(found: Examination, why: str) -> Flaw | Skip:
    if found.first is not None:
        return Flaw(REPLY, why)
    if found.hello.is_broken:
        return UNREADABLE
    if not found.hello.was_gone and _answers_if_told(found):
        return Flaw("duplex:init:before", "it answers plugin/init only when it was told more")
    return Flaw(REPLY, f"{why} (it has {found.patience.init_s:g} s)")


def _answers_if_told(found: Examination) -> bool:
    """Tell whether it answers init once it was sent what a host sends only afterwards."""
    with found.talk("told to begin, and of a key and an event", begins=False, tries=True) as talk:
        mine, data = talk.request("plugin/init", found.init_params())
        talk.probe.post(data)
        talk.tell(KEY, key("plughost", "enter"))
        talk.tell(EVENT, {"topic": "plughost.check", "payload": ""})
        talk.probe.post(talk.request("plugin/plughost-no-such-method", {})[1])
        return talk.await_answer(mine, min(TOLD_S, found.patience.call_s)) is not None


def _said(found: Examination, said: Introduction) -> Findings:
    binding = found.subject.binding
    terms = Terms() if binding is None else Terms(name=binding.name, version=binding.manifest.version)
    wrong = introduction.flaw(said, terms)
    if wrong is not None:
        return [Flaw(REPLY, wrong)]
    if found.said_manifest is None or binding is None:
        return []
    if isinstance(found.said_manifest, Flaw):
        return [found.said_manifest]
    for name in SAME:
        mine, theirs = getattr(binding.manifest, name), getattr(found.said_manifest, name)
        if mine != theirs:
            return [Flaw(REPLY, f"the manifest that it sends has another [{name}] than the file")]
    return []


def _written(found: Examination) -> Findings:
    """Hold the manifest to its own text: read, written and read again it is the same."""
    known = found.manifest
    if isinstance(known, Flaw):
        return [known]
    # A bare command's manifest has no directory of its name; the text is read as if it had.
    at_home: DuplexManifest = replace(known, directory=known.directory.parent / known.name)
    again = duplex_manifest.parse(duplex_text.serialise(at_home), at_home.directory)
    if again != at_home:
        return [Flaw("duplex:manifest:schema", f"{quote(known.name)}: written and read again, it is another")]
    return []
