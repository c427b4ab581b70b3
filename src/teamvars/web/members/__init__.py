"""Team membership: relationships that are changed by linkage."""
