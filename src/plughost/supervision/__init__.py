"""When to start, keep and let go of processes. Pure arithmetic: it starts and stops nothing itself."""
