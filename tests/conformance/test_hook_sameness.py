"""Results are compared by what they say, and fragments by what they mean."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from plughost.conformance.hook_sameness import READ_LIMIT, other_fragments, outline
from plughost.conformance.hook_seen import Answer, Seen, is_text, whole_frames
from plughost.contracts.hook.messages import Phase


def result(content: str, path: str = "a.yml", **more: object) -> wire.GenerateResult:
    return wire.GenerateResult(fragments=[wire.Fragment(path=path, content=content, **more)])


ALIKE = {
    "same-bytes": (result("x", "a.sh"), result("x", "a.sh")),
    "keys-in-another-order": (result("a: 1\nb: 2\n"), result("b: 2\na: 1\n")),
    "other-comments": (result("a: 1\n"), result("# made now\na: 1\n")),
    "json-by-format": (
        result('{"a": 1, "b": 2}', "a", format="json"),
        result('{"b": 2,\n"a": 1}', "a", format="json"),
    ),
    "no-fragments": (wire.GenerateResult(), wire.GenerateResult()),
}
UNLIKE = {
    "other-value": (result("a: 1\n"), result("a: 2\n")),
    "text-and-number": (result("a: 1\n"), result('a: "1"\n')),
    "list-in-another-order": (result("[1, 2]"), result("[2, 1]")),
    "other-path": (result("a: 1\n"), result("a: 1\n", "b.yml")),
    "one-is-missing": (result("a: 1\n"), wire.GenerateResult()),
    "other-strategy": (result("a: 1\n"), result("a: 1\n", strategy=wire.MERGE_STRATEGY_APPEND)),
    "other-order": (result("a: 1\n"), result("a: 1\n", order=1)),
    "other-text": (result("one", "a.sh"), result("two", "a.sh")),
    "no-yaml": (result("a: ["), result("a: [ ")),
    "too-long-to-read": (
        result("a: 1\nb: 2\n" + "#" * READ_LIMIT),
        result("b: 2\na: 1\n" + "#" * READ_LIMIT),
    ),
    "twice": (
        result("a: 1\n"),
        wire.GenerateResult(fragments=[*result("a: 1\n").fragments, *result("a: 1\n").fragments]),
    ),
}


@pytest.mark.parametrize("case", ALIKE)
def test_what_means_the_same_is_the_same(case: str) -> None:
    assert other_fragments(*ALIKE[case]) is None


@pytest.mark.parametrize("case", UNLIKE)
def test_what_means_something_else_is_not_the_same(case: str) -> None:
    one, other = UNLIKE[case]
    assert other_fragments(one, other) is not None
    assert other_fragments(other, one) is not None


def diagnostic(**fields: object) -> wire.Diagnostic:
    return wire.Diagnostic(**fields)


OUTLINES: dict[str, tuple[Message, Message, bool]] = {
    "detect-order": (wire.DetectResult(signals=["a", "b"]), wire.DetectResult(signals=["b", "a"]), True),
    "detect-fact": (wire.DetectResult(facts={"a": "1"}), wire.DetectResult(facts={"a": "2"}), False),
    "plan-id": (
        wire.PlanResult(resources=[wire.Resource(id="a")]),
        wire.PlanResult(resources=[wire.Resource(id="b")]),
        False,
    ),
    "plan-empty": (wire.PlanResult(), wire.PlanResult(), True),
    "generate-text": (result("a"), result("b"), True),
    "generate-path": (result("a"), result("a", "b.yml"), False),
    "generate-error": (result("a"), wire.GenerateResult(diagnostics=[diagnostic(level=1)]), False),
    "validate-code": (
        wire.ValidateResult(diagnostics=[diagnostic(code="A")]),
        wire.ValidateResult(diagnostics=[diagnostic(code="B")]),
        False,
    ),
    "validate-message": (
        wire.ValidateResult(diagnostics=[diagnostic(message="a")]),
        wire.ValidateResult(diagnostics=[diagnostic(message="b")]),
        True,
    ),
    "preflight-reason": (wire.PreflightResult(reason="a"), wire.PreflightResult(reason="b"), True),
    "preflight-run": (wire.PreflightResult(should_run=True), wire.PreflightResult(), False),
}


@pytest.mark.parametrize("case", OUTLINES)
def test_an_outline_holds_names_and_codes_and_no_texts(case: str) -> None:
    one, other, alike = OUTLINES[case]
    assert (outline(one) == outline(other)) is alike


@pytest.mark.parametrize(
    ("data", "frames"),
    [
        (b"", 0),
        (b"\0\0\0\0", 1),
        (b"\0\0\0\0\0\0\0\1x", 2),
        (b"\0\0\0", 0),
        (b"\0\0\0\2x", 0),
        (b"\0\0\0\1xy", 0),
        (b"text that is none", 0),
    ],
)
def test_whole_frames_are_counted_and_anything_else_is_none(data: bytes, frames: int) -> None:
    assert whole_frames(data) == frames


@pytest.mark.parametrize(("head", "text"), [(b"", False), (b"\n", True), (b"Hi", True), (b"\0", False)])
def test_text_is_told_from_a_length(head: bytes, text: bool) -> None:
    assert is_text(head) is text


def test_an_answer_in_the_wrong_place_is_recognised() -> None:
    body = result("a: 1\n", strategy=1).SerializeToString()
    assert Phase.GENERATE in Answer(Phase.PLAN, body).misplaced
    assert Phase.VALIDATE not in Answer(Phase.PLAN, body).misplaced
    assert Answer(Phase.GENERATE, body).misplaced == []
    assert Answer(Phase.PLAN, None).misplaced == []


@pytest.mark.parametrize(("confidence", "fits"), [(0.0, True), (1.0, True), (1.1, False), (-0.1, False)])
def test_a_confidence_is_between_0_and_1(confidence: float, fits: bool) -> None:
    body = wire.DetectResult(confidence=confidence).SerializeToString()
    assert isinstance(Answer(Phase.DETECT, body).result, wire.DetectResult) is fits


def test_a_confidence_that_is_no_number_does_not_fit() -> None:
    body = wire.DetectResult(confidence=float("nan")).SerializeToString()
    assert isinstance(Answer(Phase.DETECT, body).result, str)


def test_a_conversation_that_came_to_nothing_owes_an_answer() -> None:
    assert Seen("asked").is_silent
    assert Seen("asked", b"", answers=(Answer(Phase.PLAN, None),)).is_silent
    assert not Seen("asked", b"", answers=(Answer(Phase.PLAN, b""),)).is_silent
