"""Ctrl-C: raised while a person types, counted otherwise."""

from __future__ import annotations

import signal

import pytest

from plughost.frontends.console.keyboard import Keyboard


def test_while_nobody_types_presses_are_counted() -> None:
    with Keyboard() as keyboard:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert keyboard.is_pressed
        assert keyboard.take() == 2
        assert not keyboard.is_pressed
        assert keyboard.take() == 0


def test_while_somebody_types_a_press_is_raised_once() -> None:
    with Keyboard() as keyboard:
        with pytest.raises(KeyboardInterrupt), keyboard.typing():
            signal.raise_signal(signal.SIGINT)
        with keyboard.typing():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                signal.raise_signal(
                    signal.SIGINT
                )  # it must not come into the midst of what deals with the first
        assert keyboard.take() == 1


def test_what_was_pressed_before_the_prompt_is_nothing_to_it() -> None:
    with Keyboard() as keyboard:
        signal.raise_signal(signal.SIGINT)
        with keyboard.typing():
            pass
        assert keyboard.take() == 0


def test_what_was_there_before_is_put_back() -> None:
    numbers = (signal.SIGINT, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    with Keyboard() as keyboard:
        assert signal.getsignal(signal.SIGINT) is not before[0]
        with pytest.raises(ZeroDivisionError), keyboard.typing():
            raise ZeroDivisionError
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.getitimer(signal.ITIMER_REAL)[1] == 0  # it comes no more


def test_a_wait_for_a_key_is_interrupted_again_and_again() -> None:
    with Keyboard() as keyboard, keyboard.typing():
        signal.pause()  # which ends with a signal: for ever, if there was only one
        signal.pause()


def test_code_that_is_waited_for_is_not_interrupted_so() -> None:
    with Keyboard() as keyboard, keyboard.raising():
        assert signal.getitimer(signal.ITIMER_REAL)[1] == 0
