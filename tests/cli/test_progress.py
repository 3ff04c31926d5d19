"""What is shown of a pass while it runs, and when it has to wait."""

from __future__ import annotations

import pytest

from plughost.frontends.cli.progress import MOST_HELD, Progress
from plughost.frontends.cli.terminal import Terminal
from plughost.host.envelope.options import Question
from plughost.host.events import Event, Logged
from plughost.process.news import StderrLine

QUESTION = Question("asks", "needed", ())


def said(text: str, plugin: str = "other") -> Event:
    return Event(plugin, None, 0.0, StderrLine(text))


def test_what_others_say_while_a_person_is_asked_is_shown_after_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress, answer = Progress(Terminal()), {"a": "b"}

    def ask(question: Question) -> dict[str, str]:
        assert question is QUESTION
        progress.note(said("one"))
        progress.note(Event("other", None, 0.0, Logged("WARNING", "two", {})))
        assert capsys.readouterr().err == ""
        return answer

    assert progress.held_while(ask)(QUESTION) is answer
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["one", "two"]
    progress.note(said("three"))
    assert capsys.readouterr().err.endswith("three\n")


def test_no_more_is_kept_for_after_the_answer_than_a_person_could_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(Terminal())

    def ask(question: Question) -> None:
        for number in range(MOST_HELD + 1):
            progress.note(said(str(number), plugin=str(number)))

    progress.held_while(ask)(QUESTION)
    shown = capsys.readouterr().err.splitlines()
    assert (len(shown), shown[0]) == (MOST_HELD, "1: 1")


def test_what_waited_for_an_answer_that_never_came_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(Terminal())

    def ask(question: Question) -> None:
        progress.note(said("one"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        progress.held_while(ask)(QUESTION)
    progress.note(said("two"))
    assert capsys.readouterr().err == ""
