"""What providers generate: from fragments of many plugins to files on disk, all of them or none."""

from __future__ import annotations

from .changes import Change, ChangeKind, compare
from .combination import combine
from .offers import Offer, Output, Strategy
from .writing import recover, write

__all__ = ["Change", "ChangeKind", "Offer", "Output", "Strategy", "combine", "compare", "recover", "write"]
