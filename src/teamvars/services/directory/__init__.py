"""The directory: what users, organizations, memberships, teams, grants, workspaces and tokens are.

Each function makes one kind of change: rows, streams and audit entries together, in a transaction
of its caller, who has settled that it may be made.
"""
