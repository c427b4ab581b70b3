"""Directory files: applying one, and writing the one that applying would change nothing by."""
