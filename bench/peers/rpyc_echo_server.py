"""An rpyc service with one method that echoes, over stdio."""

import rpyc  # type: ignore[import-not-found]  # it is in the peers' environment
from rpyc.core.stream import PipeStream  # type: ignore[import-not-found]  # for the same reason


class Echo(rpyc.Service):  # type: ignore[misc]  # for the same reason
    """Gives back what it gets."""

    def exposed_echo(self, payload: bytes) -> bytes:
        return payload


rpyc.connect_stream(PipeStream.from_std(), Echo).serve_all()
