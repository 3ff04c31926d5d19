"""A pass: `envelope` plugins over the files of a directory, each in its own worker, and the record of it."""
