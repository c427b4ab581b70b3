"""Audit events: the changes of a workspace or team."""
