"""A member and one of its processes -> what the ground calls after everything that happens to that process.

A `partial` would do the same and be five times as large: five hundred idle plugins have one each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .member import DuplexLink, Member


class Attention:
    """Lets *member* attend to *link*."""

    __slots__ = ("_link", "_member")

    def __init__(self, member: Member, link: DuplexLink) -> None:
        self._member = member
        self._link = link

    def __call__(self) -> None:
        self._member.attend(self._link)
