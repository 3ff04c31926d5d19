"""Feeding a decoder: what came out, and how it ended."""

import pytest
from plughost_sdk.frames.errors import FrameError


@pytest.fixture(scope="session")
def drain():
    """Return a function that takes every frame there is out of a decoder."""

    def frames_of(decoder):
        return list(iter(decoder.next_frame, None))

    return frames_of


@pytest.fixture(scope="session")
def feed():
    """Return a function that feeds pieces, then perhaps the end, and returns the frames and the kind of error."""

    def outcome(decoder, *pieces, eof=True):
        frames = []
        try:
            for piece in pieces:
                decoder.receive_data(piece)
                frames.extend(iter(decoder.next_frame, None))
            if eof:
                decoder.receive_eof()
                frames.extend(iter(decoder.next_frame, None))
        except FrameError as error:
            return frames, type(error)
        return frames, None

    return outcome


@pytest.fixture(scope="session")
def ways_to_cut():
    """Return a function that yields a stream whole, byte by byte, and in two pieces at every place."""

    def cut(stream):
        yield [stream]
        yield [stream[at : at + 1] for at in range(len(stream))]
        for at in range(1, len(stream)):
            yield [stream[:at], stream[at:]]

    return cut
