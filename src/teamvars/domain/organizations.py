"""Organizations: what owns workspaces, teams and memberships."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Organization:
    """An organization. On the wire its id is its name. Times in µs UTC."""

    id: str
    name: str
    email: str | None
    created_at: int
