"""The steps of `directory apply`: what is there, what the file makes of it, and writing that."""
