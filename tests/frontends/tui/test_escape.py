"""When Esc leaves."""

from __future__ import annotations

from plughost.frontends.tui.escape import IGNORED_ENOUGH, PATIENCE_S, PRESSED_ENOUGH, Escape


def test_esc_is_the_plugins_until_it_has_ignored_three() -> None:
    escape, now = Escape(), 0.0
    for _ in range(IGNORED_ENOUGH):
        assert not escape.press(now)
        escape.painted(now, changed=False)
        now += 0.1
    assert escape.leaves
    assert escape.press(now)


def test_a_press_that_changes_the_screen_begins_anew() -> None:
    escape = Escape()
    for _ in range(IGNORED_ENOUGH - 1):
        escape.press(0.0)
        escape.painted(0.0, changed=False)
    escape.press(0.0)
    escape.painted(0.0, changed=True)
    for _ in range(IGNORED_ENOUGH):
        assert not escape.press(0.0)
        escape.painted(0.0, changed=False)
    assert escape.press(0.0)


def test_another_key_begins_anew() -> None:
    escape = Escape()
    for _ in range(IGNORED_ENOUGH):
        escape.press(0.0)
        escape.painted(0.0, changed=False)
    escape.other_key()
    assert not escape.leaves
    assert not escape.press(0.0)


def test_a_frame_that_was_asked_for_before_the_press_says_nothing_about_it() -> None:
    escape = Escape()
    for number in range(10):
        assert not escape.press(number + 0.5)
        escape.painted(0.0, changed=False)
        if number:
            break
    assert not escape.leaves


def test_presses_before_the_plugin_could_answer_are_one() -> None:
    escape = Escape()
    assert not any(escape.press(number * 0.01) for number in range(20))
    escape.painted(1.0, changed=False)
    assert not escape.leaves


def test_without_presses_frames_that_do_not_change_mean_nothing() -> None:
    escape = Escape()
    for _ in range(10):
        escape.painted(0.0, changed=False)
    assert not escape.press(0.0)


def test_a_plugin_that_hangs_cannot_hold_the_screen() -> None:
    escape = Escape()
    leaves = [escape.press(number * PATIENCE_S) for number in range(IGNORED_ENOUGH + 1)]
    assert leaves == [False] * IGNORED_ENOUGH + [True]


def test_presses_at_the_pace_of_a_person_leave_a_plugin_that_hangs_after_three() -> None:
    escape = Escape()
    leaves = [escape.press(number * 0.8) for number in range(IGNORED_ENOUGH + 1)]
    assert leaves == [False] * IGNORED_ENOUGH + [True]


def test_hammering_at_a_plugin_that_hangs_leaves_in_the_end() -> None:
    escape = Escape()
    leaves = [escape.press(number * PATIENCE_S / 10) for number in range(10 * IGNORED_ENOUGH + 10)]
    assert leaves.count(True) > 0
    assert not any(leaves[: 10 * IGNORED_ENOUGH])


def press_while_it_moves(escape: Escape, times: int, *, late: bool = False) -> list[bool]:
    """Press Esc *times*, each followed by a frame that differs; *late*: by one that was asked for before."""
    leaves = []
    for number in range(times):
        leaves.append(escape.press(number + 0.5))
        escape.painted(float(number if late else number + 1), changed=True)
    return leaves


def test_a_screen_that_moves_cannot_hold_the_operator_either() -> None:
    assert press_while_it_moves(Escape(), PRESSED_ENOUGH + 1) == [False] * PRESSED_ENOUGH + [True]


def test_a_screen_that_moves_and_is_slow_to_draw_cannot_hold_the_operator() -> None:
    assert press_while_it_moves(Escape(), PRESSED_ENOUGH + 1, late=True) == [False] * PRESSED_ENOUGH + [True]


def test_another_key_begins_the_row_anew_on_a_screen_that_moves() -> None:
    escape = Escape()
    press_while_it_moves(escape, PRESSED_ENOUGH)
    assert escape.leaves
    escape.other_key()
    assert not escape.leaves
    assert press_while_it_moves(escape, PRESSED_ENOUGH + 1) == [False] * PRESSED_ENOUGH + [True]
