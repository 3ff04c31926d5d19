"""What the worker needs once user code has run: imported between its first message and the first request.

Later would be too late. Where the first error is that memory or descriptors are used up, or that user code has emptied
`sys.modules`, nothing can be imported any more, and yet the error must be shown.
"""

from __future__ import annotations

from .debugger import patch
from .departure import ASKED_S, EXIT_S, depart, leave_after, leave_by, status_of, stop_by
from .pictures import Pictures
from .report import name_of, show

__all__ = (
    "ASKED_S",
    "EXIT_S",
    "Pictures",
    "depart",
    "leave_after",
    "leave_by",
    "name_of",
    "patch",
    "show",
    "status_of",
    "stop_by",
)
