"""Processes: launch, pipes, limits, the termination ladder, reaping. One seam: `Launcher`.

Nothing here knows a contract, and nothing here waits: drivers wait, and tell a `Link` what happened.
"""
