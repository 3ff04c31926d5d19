"""Esc presses and what the plugin made of them, to whether Esc leaves. Sends nothing.

Esc is the plugin's: it closes a dialogue, or goes a level up. But nobody tells us whether it was heard; we see only
whether the screen changes. A plugin whose screen stays as it is after three of them does not hold the operator. Nor
does one whose screen moves by itself, which looks the same as one that hears: there, many in a row are enough.
"""

from __future__ import annotations

IGNORED_ENOUGH = 3  # presses in a row after which the screen stayed as it was
PRESSED_ENOUGH = 8  # presses in a row, whatever the screen did: deeper than dialogues are nested
PATIENCE_S = (
    0.5  # a press that no frame has followed for so long is ignored; who is trapped presses about as fast
)


class Escape:
    """Counts, for one screen, the presses of Esc: those that changed nothing, and all in a row."""

    def __init__(self) -> None:
        self._ignored = 0
        self._pressed = 0  # in a row, those that the plugin could answer singly
        self._pressed_at: float | None = None  # of the first press that nothing has answered yet

    @property
    def leaves(self) -> bool:
        """The next press leaves."""
        return self._ignored >= IGNORED_ENOUGH or self._pressed >= PRESSED_ENOUGH

    def press(self, now: float) -> bool:
        """Count a press, and return whether it leaves rather than goes to the plugin."""
        if self._pressed_at is not None and now - self._pressed_at >= PATIENCE_S:
            self._ignore()
        if self.leaves:
            return True
        if self._pressed_at is None:
            self._pressed, self._pressed_at = self._pressed + 1, now
        return False

    def other_key(self) -> None:
        """Forget the presses: they are no longer in a row."""
        self._pressed = 0
        self._hear()

    def painted(self, asked_at: float, *, changed: bool) -> None:
        """Take note of a frame that was asked for at *asked_at*, or of an error in its place, which changes nothing."""
        if changed:
            self._hear()
        elif self._pressed_at is not None and asked_at >= self._pressed_at:
            self._ignore()

    def _hear(self) -> None:
        self._ignored, self._pressed_at = 0, None

    def _ignore(self) -> None:
        self._ignored, self._pressed_at = self._ignored + 1, None
