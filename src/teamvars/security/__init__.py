"""Keys, sealing of values, tokens, and the links of the audit chain."""
