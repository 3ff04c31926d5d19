"""A worker's question and the operator's answers: whether the one may be asked, and the others fit it. Pure.

A question comes from a plugin, so it is bounded, and only five kinds of field exist: there is none in which a
secret would be typed unseen. Answers may come as text, from a command line, and become what the field says.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, assert_never

from ...messages.quoting import listed, quote
from .messages import Field, InputRequired

MOST_FIELDS = 50
LONGEST_ID = 100  # characters
LONGEST_TEXT = 100_000  # characters of a reason, a label, a hint, or an answer
MOST_OPTIONS = 1_000
MOST_ROUNDS = 10  # questions that one plugin may ask in one run

_TRUE, _FALSE = ("true", "yes", "y", "1", "on"), ("false", "no", "n", "0", "off")


def flaw(question: InputRequired) -> str | None:
    """Return why *question* cannot be put to an operator, or None."""
    if not 0 < len(question.fields) <= MOST_FIELDS:
        return f"it asks for {len(question.fields)} fields; one to {MOST_FIELDS} can be asked for"
    ids = [field.id for field in question.fields]
    if len(set(ids)) < len(ids):
        return "it asks for the same field twice"
    if len(question.reason) > LONGEST_TEXT:
        return "its reason is too long to read"
    return next((problem for field in question.fields if (problem := _flaw_in(field))), None)


def _flaw_in(field: Field) -> str | None:
    named = f"the field {quote(field.id)}"
    if not field.id.strip() or len(field.id) > LONGEST_ID or not field.id.isprintable():
        return f"{named} has no usable id"
    if len(field.label) > LONGEST_TEXT or len(field.hint or "") > LONGEST_TEXT:
        return f"{named} has a label or hint that is too long to read"
    if field.type == "choice":
        options = field.options or ()
        if not 0 < len(options) <= MOST_OPTIONS:
            return f"{named} is a choice of {len(options)} options"
        if not all(isinstance(option, str | int | float | bool) for option in options):
            return f"{named} offers an option that is neither text nor a number"
    return None


def missing(fields: tuple[Field, ...], answers: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the required fields that *answers* leave open and that have no default."""
    return tuple(
        field
        for field in fields
        if field.required and _empty(field.default) and _empty(answers.get(field.id))
    )


def accept(fields: tuple[Field, ...], answers: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the answers as the plugin gets them, and what is wrong with those that it does not."""
    accepted: dict[str, Any] = {}
    problems = []
    known = {field.id for field in fields}
    problems += [f"{quote(str(each))} was not asked for" for each in answers if each not in known]
    for field in fields:
        answer = answers.get(field.id)
        if _empty(answer):
            answer = field.default
        if _empty(answer):
            if field.required:
                problems.append(f"{name(field)}: an answer is needed")
            continue
        value, problem = _convert(field, answer)
        if problem is None:
            accepted[field.id] = value
        else:
            problems.append(f"{name(field)}: {problem}")
    return accepted, tuple(problems)


def unanswered(fields: tuple[Field, ...], answers: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the fields that are yet to be asked for: *answers* say nothing of them, or what does not fit."""
    return tuple(
        field
        for field in fields
        if field.id not in answers or accept((field,), {field.id: answers[field.id]})[1]
    )


def merged(asked: tuple[Field, ...], known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is *known* with what was *given* when *asked* for more.

    Nothing, given for a field that was asked for, means its default; for another it leaves what is known.
    """
    wanted = {field.id for field in asked}
    kept = {each: answer for each, answer in known.items() if each not in wanted}
    said = {each: answer for each, answer in given.items() if each not in kept or not _empty(answer)}
    return {**dict.fromkeys(wanted), **kept, **said}


def name(field: Field) -> str:
    """Return how to call *field* in a sentence: its id, and its label if that says more."""
    return f"{field.id} ({listed([field.label])})" if field.label and field.label != field.id else field.id


def _empty(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())


def _convert(field: Field, answer: Any) -> tuple[Any, str | None]:
    """Return *answer* as *field* wants it, or why it is not what it wants."""
    typed = _typed(answer)
    if typed is None:
        return None, "that is nothing one could type"
    match field.type:
        case "string" | "text":
            return _text(field, answer)
        case "choice":
            options = field.options or ()
            chosen = [option for option in options if _typed(option) == typed]
            offered = ", ".join(quote(str(option)) for option in options[:12])
            return (chosen[0], None) if chosen else (None, f"{quote(typed)} is none of {offered}")
        case "date":
            return _date(typed)
        case "boolean":
            word = typed.strip().lower()
            known = word in _TRUE or word in _FALSE
            return (word in _TRUE, None) if known else (None, f"{quote(typed)} is neither yes nor no")
        case never:
            assert_never(never)


def _typed(answer: Any) -> str | None:
    """Return *answer* as an operator would type it; None for what is no single value, or too long to spell."""
    if not isinstance(answer, str | int | float | date):
        return None
    try:
        return str(answer)
    except ValueError:  # Python spells no number of thousands of digits
        return None


def _text(field: Field, answer: Any) -> tuple[Any, str | None]:
    if not isinstance(answer, str):
        return None, "text is wanted"
    if len(answer) > LONGEST_TEXT:
        return None, f"over {LONGEST_TEXT} characters"
    if field.type == "string" and ("\n" in answer or "\r" in answer):
        return None, "one line is wanted"
    try:
        answer.encode()
    except UnicodeEncodeError:  # a command line may hold bytes that are no text: JSON cannot say them
        return None, "it holds what is no Unicode text"
    return answer, None


def _date(typed: str) -> tuple[Any, str | None]:
    try:
        return date.fromisoformat(typed.strip()).isoformat(), None
    except ValueError:
        return None, f"{quote(typed)} is no date such as 2026-01-31"
