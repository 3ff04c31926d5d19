"""What a Python plugin imports: one module per contract, and the frames that both sides share.

Importing this package imports nothing else: a plugin pays only for the contract it names.
"""

__version__ = "0.1.0"
