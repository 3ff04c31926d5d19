"""A provider asked by hand: the loop over two pipes that anyone would write. It has no limits, deadlines or autopsy.

It gets the command and the environment that plughost would give it, and the same protobuf classes.
"""

from __future__ import annotations

import os
import struct
import subprocess
from types import TracebackType
from typing import Self, TypeVar

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from plughost import Binding
from plughost.contracts.hook import host as hook
from plughost.process import command, environment

HEADER = struct.Struct(">I")
HELLO = wire.Hello(core_protocol=wire.PROTOCOL, core_version="1.0.0")

M = TypeVar("M", bound=Message)


class ByHand:
    """One provider process. It is greeted by `shake_hands`, or by whoever started many."""

    def __init__(self, binding: Binding) -> None:
        bound = hook.bound(binding)  # it is told which phases will come
        variables = environment.build(bound.environment, os.environ, "bench.1")
        words = command.resolve(bound, variables["PATH"]).words
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, env=variables, cwd=bound.cwd)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def shake_hands(self) -> wire.PluginInfo:
        """Greet it, and return its introduction."""
        return self.ask(HELLO, wire.PluginInfo)

    def ask(self, request: Message, kind: type[M]) -> M:
        """Send *request*, and return the reply as a *kind*."""
        self.send(request)
        return self.receive(kind)

    def send(self, request: Message) -> None:
        """Send *request*."""
        body = request.SerializeToString()
        self._to.write(HEADER.pack(len(body)) + body)
        self._to.flush()

    def receive(self, kind: type[M]) -> M:
        """Wait for a reply, and return it as a *kind*."""
        (size,) = HEADER.unpack(self._from.read(HEADER.size))
        return kind.FromString(self._from.read(size))

    def let_go(self) -> None:
        """Close its input."""
        self._to.close()

    def close(self) -> None:
        """Close its input, and wait until it is gone."""
        self.let_go()
        self._process.wait()
        self._from.close()
