"""A directory of files: what is in it, what has changed, and how it is put back exactly."""
