"""The pictures of a `sideband` worker: sent in time, told apart, and sent again only if they have changed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..contracts.sideband.messages import PlotImage, ReadlineStart
from .sideband_examination import Examination, unended
from .sideband_hearing import Asked
from .sideband_talk import Talk
from .verdict import Findings, Flaw, Remark, Skip


def pictures(found: Examination) -> Findings:
    """Pictures of code that draws."""
    if found.backend is not None and not found.backend.supports_images:
        return [Skip("it says that it has no pictures")]
    if lacks := found.lacks("picture"):
        return [*lacks]
    with found.talk("given code that draws") as talk:
        asked = talk.run(found.code("picture", found.word()))
        if asked is None:
            return [unended(talk, "image:sent", "code that draws")]
        if asked.end is not None and asked.end.error:
            return [Skip(f"the code that draws fails here: {talk.output(asked).strip()[-120:]}")]
        first = _of(asked)
        if not first:
            return [Flaw("sideband:image:sent", "a picture is not sent before the end of its request")]
        findings = [*_unchanged(found, talk), *_identity(found, talk, first)]
    return findings or [*_after_failure(found), *_before_asking(found), *_background(found)]


def _of(asked: Asked) -> list[PlotImage]:
    return [each for each in asked.messages if isinstance(each, PlotImage)]


def _unchanged(found: Examination, talk: Talk) -> Findings:
    asked = talk.run(found.code("echo", found.word()))
    if asked is None:
        return [unended(talk, "image:sent", "code that draws nothing")]
    return [Flaw("sideband:image:sent", "a picture that has not changed is sent again")] if _of(asked) else []


def _identity(found: Examination, talk: Talk, first: list[PlotImage]) -> Findings:
    """One that changes keeps its id and is not new; another one has another id and is."""
    if len(first) != 1:
        return [Flaw("sideband:image:id", f"one figure is {len(first)} pictures")]
    if not first[0].is_new:
        return [Flaw("sideband:image:id", "a picture that was not sent before is not new")]
    if not found.lacks("repaint"):
        asked = talk.run(found.code("repaint", found.word()))
        changed = _of(asked) if asked is not None else []
        if [(each.id, each.is_new) for each in changed] != [(first[0].id, False)]:
            return [
                Flaw(
                    "sideband:image:id",
                    "a picture that changes does not keep its id, or is sent as a new one",
                )
            ]
    asked = talk.run(found.code("picture", found.word()))
    others = _of(asked) if asked is not None else []
    if [each.is_new for each in others] != [True] or others[0].id == first[0].id:
        return [Flaw("sideband:image:id", "a second figure is not a new picture with an id of its own")]
    return []


def _after_failure(found: Examination) -> Findings:
    if found.lacks("error"):
        return []
    with found.talk("given code that draws and fails") as talk:
        asked = talk.run(found.code("picture", found.word()) + "\n" + found.code("error", found.word()))
        if asked is not None and not _of(asked):  # one that is not over is another axis's
            return [Flaw("sideband:image:sent", "a picture of code that fails is not sent")]
    return []


def _before_asking(found: Examination) -> Findings:
    if not found.reads:
        return []
    with found.talk("given code that draws and reads") as talk:
        asked = talk.send(found.code("picture", found.word()) + "\n" + found.code("read", found.word()))
        talk.asks(asked)
        kinds = [type(each) for each in asked.messages]
        if PlotImage not in kinds or (
            ReadlineStart in kinds and kinds.index(ReadlineStart) < kinds.index(PlotImage)
        ):
            return [Flaw("sideband:image:sent", "a picture is not sent before a line is asked for")]
    return []


def _background(found: Examination) -> Findings:
    """A picture that changes while nothing runs waits for the next request."""
    if found.lacks("background"):
        return [Remark("pictures that change in the background were not tried")]
    with (
        tempfile.TemporaryDirectory(prefix="plughost-check-") as directory,
        found.talk("given code that draws in the background") as talk,
    ):
        file = Path(directory) / "begin"
        talk.run(found.code("picture", found.word()))
        if talk.run(found.code("background", found.word(), file=str(file))) is None:
            return [unended(talk, "image:background", "code that draws in the background")]
        file.touch()
        if not talk.probe.work(lambda: not os.path.exists(file), found.patience.call_s):
            return [Remark("code that draws in the background did not come to it")]
        talk.listen()  # what comes now is noted as what it is
        asked = talk.run(found.code("echo", found.word()))
        if asked is None or not _of(asked):
            sent = any(flaw.clause == "sideband:image:background" for flaw in talk.flaws)
            what = "a picture that changed in the background is not sent with the next request"
            return [] if sent else [Flaw("sideband:image:background", what)]
    return []
