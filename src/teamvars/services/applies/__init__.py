"""Changes to many variables of a workspace at once, all or nothing: applies and copies."""
