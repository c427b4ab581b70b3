"""The only SQL: the two engines, the schema, and functions that take a transaction."""
