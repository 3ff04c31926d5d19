"""The parts of the plugin: what was published to sums, keys to what is looked at, and both to a drawing."""
