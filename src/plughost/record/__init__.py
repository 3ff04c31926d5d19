"""What was done to a directory of files, written down: the record and the logs."""
