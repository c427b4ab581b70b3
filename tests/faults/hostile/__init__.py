"""Attacks on a server as `serve` comes, and what its other callers notice of them."""
