"""What a plugin says about itself on disk, and the host's own binding of it. Starts nothing."""
