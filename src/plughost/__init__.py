"""plughost runs anyone's plugin in its own process.

    async with plughost.Host() as host:                  # or: with plughost.blocking.Host() as host:
        greeter = await host.add("examples/execute/greeter")
        print(await greeter.call("greet", {"name": "Ada"}))

Importing this package is cheap: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = (
    False  # type checkers take this name as true; importing typing would cost as much as all the rest
)
if TYPE_CHECKING:
    from typing import Any

    from . import blocking as blocking
    from .autopsy import Autopsy as Autopsy
    from .autopsy import ExitStatus as ExitStatus
    from .contracts.duplex.keys import KeyCode as KeyCode
    from .contracts.duplex.keys import KeyEvent as KeyEvent
    from .contracts.execute.host import Result as Result
    from .contracts.execute.messages import Manifest as Manifest
    from .contracts.sideband.items import Image as Image
    from .contracts.sideband.items import Notice as Notice
    from .contracts.sideband.items import Omitted as Omitted
    from .contracts.sideband.items import Prompt as Prompt
    from .contracts.sideband.items import Stream as Stream
    from .contracts.sideband.items import Text as Text
    from .errors import FragmentError as FragmentError
    from .errors import HostClosed as HostClosed
    from .errors import LocalProtocolError as LocalProtocolError
    from .errors import ManifestError as ManifestError
    from .errors import PlughostError as PlughostError
    from .errors import ProtocolError as ProtocolError
    from .errors import RemoteError as RemoteError
    from .errors import RemoteProtocolError as RemoteProtocolError
    from .errors import TreeError as TreeError
    from .errors import Unsupported as Unsupported
    from .failures import CapabilityNotAllowed as CapabilityNotAllowed
    from .failures import CapabilityNotDeclared as CapabilityNotDeclared
    from .failures import FailureCode as FailureCode
    from .failures import HandshakeFailed as HandshakeFailed
    from .failures import LaunchFailed as LaunchFailed
    from .failures import MalformedResponse as MalformedResponse
    from .failures import PluginCrashed as PluginCrashed
    from .failures import PluginFailure as PluginFailure
    from .failures import PluginTimeout as PluginTimeout
    from .failures import ProtocolVersionMismatch as ProtocolVersionMismatch
    from .failures import Stage as Stage
    from .failures import ToolNotExposed as ToolNotExposed
    from .host.asyncio_host import Host as Host
    from .host.asyncio_host import Plugin as Plugin
    from .host.duplex.asyncio_fleet import AsyncDuplexPlugin as AsyncDuplexPlugin
    from .host.duplex.asyncio_fleet import AsyncFleet as AsyncFleet
    from .host.duplex.blocking_fleet import BlockingDuplexPlugin as BlockingDuplexPlugin
    from .host.duplex.blocking_fleet import BlockingFleet as BlockingFleet
    from .host.duplex.deliveries import Snapshot as Snapshot
    from .host.duplex.host_action import HostAction as HostAction
    from .host.duplex.status import Status as Status
    from .host.envelope.options import PassResult as PassResult
    from .host.envelope.options import Question as Question
    from .host.events import Event as Event
    from .host.hook.generation import Finding as Finding
    from .host.hook.generation import Generation as Generation
    from .host.hook.providers import AsyncProvider as AsyncProvider
    from .host.hook.providers import BlockingProvider as BlockingProvider
    from .host.sideband.asyncio_console import AsyncConsole as AsyncConsole
    from .host.sideband.blocking_console import BlockingConsole as BlockingConsole
    from .host.sideband.reply import Interruption as Interruption
    from .host.sideband.reply import Reply as Reply
    from .host.sideband.reply import ReplyState as ReplyState
    from .manifest.binding import Binding as Binding
    from .manifest.binding import Environment as Environment
    from .manifest.binding import HookLimits as HookLimits
    from .manifest.binding import Limits as Limits
    from .manifest.duplex_limits import DuplexLimits as DuplexLimits
    from .manifest.duplex_narrowing import Narrowing as Narrowing
    from .manifest.sideband_limits import SidebandLimits as SidebandLimits
    from .record.schema import Applied as Applied

__version__ = "0.1.0"

_HOMES = {
    "blocking": ("blocking",),
    "autopsy": ("Autopsy", "ExitStatus"),
    "contracts.duplex.keys": ("KeyCode", "KeyEvent"),
    "contracts.execute.host": ("Result",),
    "contracts.execute.messages": ("Manifest",),
    "contracts.sideband.items": ("Image", "Notice", "Omitted", "Prompt", "Stream", "Text"),
    "errors": (
        "FragmentError",
        "HostClosed",
        "LocalProtocolError",
        "ManifestError",
        "PlughostError",
        "ProtocolError",
        "RemoteError",
        "RemoteProtocolError",
        "TreeError",
        "Unsupported",
    ),
    "failures": (
        "CapabilityNotAllowed",
        "CapabilityNotDeclared",
        "FailureCode",
        "HandshakeFailed",
        "LaunchFailed",
        "MalformedResponse",
        "PluginCrashed",
        "PluginFailure",
        "PluginTimeout",
        "ProtocolVersionMismatch",
        "Stage",
        "ToolNotExposed",
    ),
    "host.asyncio_host": ("Host", "Plugin"),
    "host.duplex.asyncio_fleet": ("AsyncDuplexPlugin", "AsyncFleet"),
    "host.duplex.blocking_fleet": ("BlockingDuplexPlugin", "BlockingFleet"),
    "host.duplex.deliveries": ("Snapshot",),
    "host.duplex.host_action": ("HostAction",),
    "host.duplex.status": ("Status",),
    "host.envelope.options": ("PassResult", "Question"),
    "host.events": ("Event",),
    "host.hook.generation": ("Finding", "Generation"),
    "host.hook.providers": ("AsyncProvider", "BlockingProvider"),
    "host.sideband.asyncio_console": ("AsyncConsole",),
    "host.sideband.blocking_console": ("BlockingConsole",),
    "host.sideband.reply": ("Interruption", "Reply", "ReplyState"),
    "manifest.binding": ("Binding", "Environment", "HookLimits", "Limits"),
    "manifest.duplex_limits": ("DuplexLimits",),
    "manifest.duplex_narrowing": ("Narrowing",),
    "manifest.sideband_limits": ("SidebandLimits",),
    "record.schema": ("Applied",),
}

__all__ = sorted({name for names in _HOMES.values() for name in names} | {"__version__"})


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f".{home}", __name__)
            return module if home == name else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
