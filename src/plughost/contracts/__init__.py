"""The wire contracts, each as wire types, a table of states and a session without I/O.

No process, clock, thread or event loop is known here, and one contract never imports another.
"""
