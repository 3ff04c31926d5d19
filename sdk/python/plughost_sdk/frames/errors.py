"""What can be wrong with a frame."""


class FrameError(ValueError):
    """The bytes are not frames of this codec. The stream cannot be read any further."""


class TruncatedFrame(FrameError):
    """The stream ended inside a frame."""


class FrameTooLarge(FrameError):
    """A frame is larger than the limit: refused before it is written, or while it is read."""
