"""What a plugin may do. Pure decisions, default deny; nothing here enforces anything by itself."""
