"""What the service says of itself, to callers without a token as well."""
