"""The use cases: authorise, change, record, each in one visible transaction."""
