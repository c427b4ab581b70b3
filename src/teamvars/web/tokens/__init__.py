"""Authentication tokens."""
