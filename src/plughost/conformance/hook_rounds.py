"""Checks of the clauses of `hook` about rounds, their results, and the end. Each turns what was seen into a verdict."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ..contracts.hook import rounds
from ..contracts.hook.messages import Phase
from ..errors import FragmentError
from ..fragments import paths as fragment_paths
from ..messages.quoting import listed, quote
from .hook_examination import Examination
from .hook_sameness import other_fragments, outline
from .hook_seen import Seen, whole_frames
from .hook_verdict import Check, Verdict
from .verdict import Remark, Skip

MORE = "`--schema` gives it another pipeline"


def answers(found: Examination) -> Verdict:
    if not found.round:
        return Skip("which phases it is to be asked for is not known")
    seen = found.ordinary
    for answer in found.first_round:
        if answer.body is None:
            if seen.promised is not None:
                return Skip("its answer is text, or too long")
            return f"{seen.when}, it does not answer {answer.phase}: {seen.ending}"
    for each in (seen, found.idle):
        for answer in each.answers:
            if whole_frames(answer.extra):
                return f"{each.when}, it answers {answer.phase} more than once"
        if each.promised is None and whole_frames(each.rest):
            return f"{each.when}, it goes on answering after the last request"
    return None


def order(found: Examination) -> Verdict:
    if not found.round:
        return Skip("which phases it is to be asked for is not known")
    for answer in found.ordinary.bodies:
        if found.is_out_of_order(answer):
            likely = listed([phase for phase in answer.misplaced if phase in found.round])
            return f"its answer to {answer.phase} is one to {likely}: its round is {', '.join(found.round)}"
    return None


def again(found: Examination) -> Verdict:
    seen, second = found.ordinary, found.second_round
    if any(map(found.is_out_of_order, second)):
        return Skip("its answers are out of order")
    for answer, first in zip(second, found.first_round, strict=False):
        if answer.body is None:
            break
        if isinstance(answer.result, str):
            return f"asked a second time: {answer.result}"
        if isinstance(first.result, Message) and outline(answer.result) != outline(first.result):
            return f"asked a second time, it answers {answer.phase} otherwise"
    return None if found.goes_on else f"asked a second time, it does not answer: {seen.ending}"


def chosen(found: Examination) -> Verdict:
    assert found.info is not None
    declared = rounds.declared(found.info)
    if declared is None:
        return Skip("it declares no phases, so that none can be chosen")
    choices: list[tuple[Phase, ...]] = [(phase,) for phase in declared]
    if len(found.round) > 2:
        choices.append((found.round[0], found.round[-1]))
    conversations = (*map(found.chosen, choices), found.untold)
    return next((wrong for seen in conversations if (wrong := _departure(found, seen))), None)


def _departure(found: Examination, seen: Seen) -> str | None:
    """Say how its answers to some phases are not those that it gives in a whole round, or None."""
    if isinstance(seen.info, str):
        return f"{seen.when}, it does not introduce itself: {seen.ending}"
    for answer in seen.answers:
        usual = found.results.get(answer.phase)
        if answer.body is None:
            return f"{seen.when}, it does not answer {answer.phase}: {seen.ending}"
        if isinstance(answer.result, str):
            return f"{seen.when}: {answer.result}"
        if usual is not None and outline(answer.result) != outline(usual):
            return f"{seen.when}, it answers {answer.phase} otherwise than in a whole round"
    return None


def diagnostics(found: Examination) -> Verdict:
    seen = found.nonsense
    if seen.is_silent:
        what = f"answer {seen.answers[-1].phase}" if seen.answers else "introduce itself"
        return f"{seen.when}, it does not {what}: {seen.ending}"
    unreadable = [answer.result for answer in seen.answers if isinstance(answer.result, str)]
    if unreadable:
        return f"{seen.when}: {unreadable[0]}"
    for each in (found.ordinary, found.nonsense):
        for answer in each.answers:
            if any(not error.message.strip() for error in answer.errors):
                return f"{each.when}, its answer to {answer.phase} has an error without a message"
    told = [error.message for answer in found.first_round for error in answer.errors]
    return Remark(f"it reports an error, which it may: {quote(told[0])}; {MORE}") if told else None


def paths(found: Examination) -> Verdict:
    offered = [*_fragments(found.ordinary), *_fragments(found.nonsense)]
    for fragment in offered:
        try:
            fragment_paths.normalise("", fragment.path)
        except FragmentError as error:
            return f"it offers a fragment {quote(fragment.path)}: {error.problem}"
    return None if offered else Skip(f"it offered no fragments; {MORE}")


def _fragments(seen: Seen) -> Iterator[wire.Fragment]:
    for answer in seen.answers:
        if isinstance(answer.result, wire.GenerateResult):
            yield from answer.result.fragments


def same_fragments(found: Examination) -> Verdict:
    first = found.results.get(Phase.GENERATE)
    if not isinstance(first, wire.GenerateResult):
        return Skip("it is not asked for fragments")
    second = found.second_round if found.goes_on else ()
    others = (("asked a second time", second), (found.again.when, found.again.answers))
    for when, answers in others:
        for answer in answers:
            if isinstance(answer.result, wire.GenerateResult):
                difference = other_fragments(first, answer.result)
                if difference is not None:
                    return f"{when}: {difference}"
    return None if first.fragments else Skip(f"it offered no fragments; {MORE}")


def eof(found: Examination) -> Verdict:
    if found.cut_off.exit is None:
        return f"{found.cut_off.when}, and it goes on running"
    for seen in (found.greeted, found.idle, found.ordinary):
        if seen.is_silent:
            continue  # how it ends before it has answered is another clause
        if seen.exit is None:
            return f"{seen.when}, it goes on running when its input ends"
        if not seen.exit.ok:
            return f"{seen.when}, {seen.ending}, when its input ends"
    return None


def truncated(found: Examination) -> Verdict:
    for seen in found.cut_short:
        if seen.exit is None:
            return f"{seen.when}, and it goes on running"
        reported = any(error.message.strip() for answer in seen.answers for error in answer.errors)
        if seen.exit.ok and not reported:
            return f"{seen.when}, and it ends with exit status 0"
    return None


CHECKS: dict[str, Check] = {
    "hook:round:reply": answers,
    "hook:round:order": order,
    "hook:round:again": again,
    "hook:round:chosen": chosen,
    "hook:result:diagnostics": diagnostics,
    "hook:result:paths": paths,
    "hook:result:stable": same_fragments,
    "hook:exit:eof": eof,
    "hook:exit:truncated": truncated,
}
