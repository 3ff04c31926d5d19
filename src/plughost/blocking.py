"""The host for code without an event loop: `plughost.blocking.Host`."""

from .host.blocking_host import Host, Plugin

__all__ = ["Host", "Plugin"]
