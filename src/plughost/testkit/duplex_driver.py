"""A host for one plugin in memory, driven by a test: calls to answers, from init to shutdown. Judges no answer.

Raises AssertionError, with all that is known of the plugin, where it hangs, ends or breaks the contract.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Raw

from ..capabilities.gates import Refusal
from ..contracts.base import Fault
from ..contracts.duplex import host as contract
from ..contracts.duplex.lanes import Lane
from ..contracts.duplex.messages import ABI_VERSION, InitParams
from ..contracts.duplex.news import Answered, Called, Ignored, News, Told
from ..contracts.duplex.session import DuplexSession
from ..contracts.duplex.terms import Terms
from ..failures import FailureCode
from ..messages.jsonrpc import INTERNAL_ERROR, ErrorResponse, Id
from .duplex_setting import NOWHERE, Setting
from .duplex_stderr import Stderr
from .duplex_wire import Wire

if TYPE_CHECKING:
    from plughost_sdk.duplex import Plugin


class Driver:
    """One run of *plugin* in a *setting*. It has *timeout_s* seconds for every answer, and for its end."""

    def __init__(self, plugin: Plugin, setting: Setting, config: Any, timeout_s: float) -> None:
        name, version = setting.manifest.name, setting.manifest.version
        self.name = name
        self.stderr = Stderr()
        self._timeout_s = timeout_s
        self._answers: dict[int, Answered] = {}
        self._lost = False  # it hangs, or is gone
        with ExitStack() as stack:
            home = NOWHERE
            if setting.files:
                home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plughost-testkit-")))
            self.services = setting.services(home)
            stack.enter_context(self.stderr)
            terms = Terms(name, version, handshake_s=timeout_s, write_s=timeout_s, ack_s=timeout_s)
            self._session = DuplexSession(terms, time.monotonic())
            granted = tuple(setting.grants.names())
            self._session.begin(InitParams(str(setting.manifest.file), granted, ABI_VERSION, config))
            self._wire = Wire(plugin.serve, self._session, self._hear, name)
            stack.callback(self._wire.close)
            self._wire.run_until(lambda: self._session.introduction is not None)
            if self._session.fault is not None:
                self._give_up("plugin/init", self._session.fault)
            self._entered = stack.pop_all()

    def close(self, error: BaseException | None) -> None:
        """Shut the plugin down. How it ends matters only if there is no *error* that the test fails with anyway."""
        with self._entered:
            if self._lost:
                return
            self._session.shutdown(now=time.monotonic())
            self._wire.run_until(lambda: self._session.settled, self._timeout_s)
            self._wire.close()
            self._lost = not self._wire.join(self._timeout_s)
            if error is None and (self._lost or self._wire.status):
                raise AssertionError(self.explained("it did not end well after plugin/shutdown"))

    def ask(self, method: str, params: Any) -> Raw:
        """Return what the plugin answers. Raises RemoteError if that is an error."""
        before = sys.stdout, sys.stderr
        call_id = self._session.call(method, params, self._timeout_s, now=time.monotonic())
        self._wire.run_until(lambda: call_id in self._answers)
        outcome = self._answers.pop(call_id).outcome
        if isinstance(outcome, Fault):
            sys.stdout, sys.stderr = before  # a command that hangs still collects what is printed
            self._give_up(method, outcome)
        if isinstance(outcome, ErrorResponse):
            raise contract.remote_error(self.name, outcome)
        return outcome.result

    def tell(self, method: str, params: Any, lane: Lane = Lane.EVENT) -> None:
        """Send a notification. It leaves with the next call at the latest."""
        self._session.notify(method, params, lane)

    def explained(self, what: str) -> str:
        """Return *what* with what is known of the plugin: how it ended, or where it stands, and what it wrote."""
        parts = [f"{self.name}: {what}"]
        if self._wire.status is not None:
            parts.append(f"It ended with status {self._wire.status}.")
        if self._wire.crash:
            parts.append(f"It was ended by:\n{self._wire.crash}")
        if self._lost and (stack := self._wire.stack()):
            parts.append(f"It stands at:\n{stack}")
        if self.stderr.text:
            parts.append(f"It wrote to standard error:\n{self.stderr.text}")
        return "\n".join(parts)

    def _give_up(self, method: str, fault: Fault) -> NoReturn:
        self._lost = True
        if fault.code is not FailureCode.TIMEOUT:  # then it is ending, and its thread knows why
            self._wire.close()
            self._wire.join(self._timeout_s)
        raise AssertionError(self.explained(f"{method}: {fault.code.value}: {fault.message}"))

    def _hear(self, news: News) -> None:
        match news:
            case Answered():
                self._answers[news.call_id] = news
            case Told(method, params):
                self.services.tell(method, params)
            case Called(id, method, params):
                self._serve(id, method, params)
            case Ignored():
                self.services.ignored.append(news.detail)
            case _:
                pass

    def _serve(self, id: Id, method: str, params: Raw) -> None:
        try:
            answer = self.services.call(method, params)
        except (
            BaseException
        ) as error:  # of the test's own function: the plugin waits for an answer all the same
            self._session.refuse(id, INTERNAL_ERROR, f"{type(error).__name__} in the test")
            raise
        if isinstance(answer, Refusal):
            self._session.refuse(id, answer.code, answer.message, answer.data)
        else:
            self._session.answer(id, answer)
