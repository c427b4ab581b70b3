"""Changes to the directory: each is the row, the stream and the audit entry that belong together.

They are made inside somebody else's transaction, by whoever has settled that they may be made.
"""
