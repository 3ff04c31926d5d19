"""The Python worker of `sideband`: a directory that any interpreter from 3.9 on can run, with nothing installed there.

    python sideband_worker/__main__.py        (or: python sideband_worker; slower, since runpy is imported)

It finds the two descriptors of the sideband in its environment, and refuses to start without them.

How it works. One thread, the control thread, owns what comes from the host: the lines of the sideband and the bytes of
stdin. The main thread runs one request after the other and sends what becomes of it. Completion is a fact and no guess:
a request's bytes are announced and taken exactly, and its marks go down the same pipes as its output.

Importing this package imports nothing. It never imports `plughost_sdk`, which is not there in a user's environment.
"""

VERSION = "0.1.0"  # told to the host; the same as of the SDK that it comes with
