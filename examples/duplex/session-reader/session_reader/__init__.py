"""The parts of the plugin: lines of logs to calls, and files to lines."""
