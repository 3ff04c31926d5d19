"""What is worth saying while files are written, collected for the answer. Decides nothing."""

from __future__ import annotations

from plughost_sdk import hook
from plughost_sdk.hook_messages import Diagnostic


class Notes:
    """Diagnostics in the order they were made, each once: a command that is called ten times warns once."""

    def __init__(self) -> None:
        self._made: dict[bytes, Diagnostic] = {}
        self.has_errors = False

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return list(self._made.values())

    def error(self, code: str, message: str, hint: str) -> None:
        self.has_errors = True
        self._add(hook.error(code, message, hint=hint))

    def warning(self, code: str, message: str, hint: str) -> None:
        self._add(hook.warning(code, message, hint=hint))

    def info(self, code: str, message: str, hint: str) -> None:
        self._add(hook.info(code, message, hint=hint))

    def _add(self, diagnostic: Diagnostic) -> None:
        self._made.setdefault(diagnostic.SerializeToString(), diagnostic)
