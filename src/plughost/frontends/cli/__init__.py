"""The command line: one file per command, loaded when it is used, and one object that prints."""
