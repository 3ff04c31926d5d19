"""Numbers of a width, and bytes: what the messages of `duplex` are made of. Refuses what is out of its range.

Bytes travel as base64 in one string; an array of integers is read too, because older plugins write one. Every array
but that one is a tuple in the messages, so that a list can be nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

LARGEST_U64 = 2**64 - 1

U8 = Annotated[int, Meta(ge=0, le=2**8 - 1)]
U16 = Annotated[int, Meta(ge=0, le=2**16 - 1)]
U32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
I32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
U64 = Annotated[int, Meta(ge=0)]  # its upper end is checked by Checked: msgspec's own bounds are signed
if TYPE_CHECKING:
    Blob = bytes
else:
    Blob = bytes | list[U8]  # once checked, it is bytes


class Checked(Struct, frozen=True):
    """A message with bytes, or with numbers of 64 bits, in it."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is list:
                force_setattr(self, name, bytes(value))
            elif type(value) is int and value > LARGEST_U64:
                raise ValueError(f"{name} has over 64 bits")
