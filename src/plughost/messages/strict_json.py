"""Frames to typed messages and back: the one border where bytes from a plugin become values.

Whatever is wrong with the bytes, it is the plugin's fault and comes out as one RemoteProtocolError that
names the place. What the values mean is decided elsewhere.
"""

from __future__ import annotations

import gc
import math
from typing import Any, Generic, TypeVar

import msgspec

from ..errors import LocalProtocolError, RemoteProtocolError
from . import depth

T = TypeVar("T")

# Above this size the garbage collector is held off while decoding: it would walk the growing tree again
# and again, which makes a megabyte of `[[],[],…` fifteen times dearer and stalls the whole host.
LARGE_FRAME = 65_536


class Decoder(Generic[T]):
    """Decodes one kind of message. *what* names it in errors."""

    __slots__ = ("_decoder", "what")

    def __init__(self, type: type[T], what: str) -> None:
        self.what = what
        self._decoder = msgspec.json.Decoder(type)

    def decode(self, frame: bytes) -> T:
        """Return the message in *frame*. Raises RemoteProtocolError for anything that is not exactly one."""
        if len(frame) > depth.MAX_DEPTH and depth.exceeds(frame):
            raise RemoteProtocolError(f"{self.what}: nested more than {depth.MAX_DEPTH} deep")
        try:
            if not frame.isascii():
                frame.decode()  # msgspec skips fields it does not know without looking at their UTF-8
            return self._decoder.decode(frame) if len(frame) < LARGE_FRAME else self._decode(frame)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(f"{self.what}: {error}") from error
        except UnicodeDecodeError as error:
            raise RemoteProtocolError(f"{self.what}: not UTF-8 at byte {error.start}") from error
        except (RecursionError, MemoryError, ValueError, OverflowError) as error:
            raise RemoteProtocolError(f"{self.what}: cannot be decoded ({error})") from error

    def decode_part(self, part: msgspec.Raw) -> T:
        """Return the message in *part* of a frame that was decoded before, and so is neither too deep nor broken."""
        try:
            return self._decoder.decode(part) if len(memoryview(part)) < LARGE_FRAME else self._decode(part)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(f"{self.what}: {error}") from error
        except (RecursionError, MemoryError, ValueError, OverflowError) as error:
            raise RemoteProtocolError(f"{self.what}: cannot be decoded ({error})") from error

    def _decode(self, frame: bytes | msgspec.Raw) -> T:
        if not gc.isenabled():
            return self._decoder.decode(frame)
        try:
            gc.disable()
            return self._decoder.decode(frame)
        finally:
            gc.enable()


_encoder = msgspec.json.Encoder()


def encode(message: Any, what: str) -> bytes:
    """Return *message* as JSON bytes. Raises LocalProtocolError if it cannot be said in JSON."""
    try:
        encoded = _encoder.encode(message)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise LocalProtocolError(f"{what}: cannot be written as JSON ({error})") from error
    if encoded.find(b"null") >= 0:  # `in` takes much longer: it first tries whether it is given a number
        check_finite(message, what)
    return encoded


def check_finite(message: Any, what: str) -> None:
    """Raise LocalProtocolError if *message* holds a NaN or an infinity, which msgspec writes as null."""
    try:
        lossless = _finite(msgspec.to_builtins(message))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise LocalProtocolError(f"{what}: cannot be written as JSON ({error})") from error
    if not lossless:
        raise LocalProtocolError(f"{what}: JSON has no NaN and no infinity")


def _finite(value: Any) -> bool:
    """Tell whether *value* holds no NaN and no infinity, which msgspec writes as null without a word."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    return True
