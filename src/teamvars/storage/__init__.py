"""The only SQL: functions that take a transaction. `database` is the interface of `engines`."""
