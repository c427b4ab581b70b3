"""A directory file, for servers under load and for the benchmark."""

ONE_WORKSPACE = """\
users: [{username: alice}]
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network]
    teams: [{name: owners, members: [alice]}]
"""
