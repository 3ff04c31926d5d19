"""What developers run beside the tests."""
