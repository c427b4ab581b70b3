"""What those who acted are called now, as far as an organization is told."""

from collections.abc import Mapping

import msgspec

from teamvars.domain.audit import AuditEntry
from teamvars.domain.audit_names import OPERATOR


class ActorNames(msgspec.Struct, frozen=True):
    """What is told of the actors of entries, of the tokens they used and of where they are, by id.

    Users have a name while they are members, as the organization is told it: whoever is invited
    goes by the address of the invitation. A token is described where its owner is a member, a team
    that the reader sees, or the organization.
    """

    names: Mapping[str, str]
    descriptions: Mapping[str, str]

    def of_actor(self, entry: AuditEntry) -> str | None:
        """Who acted; None for operators, for who is gone and for who is not told."""
        return None if entry.actor_kind == OPERATOR else self.names.get(entry.actor_id)

    def of_stream(self, entry: AuditEntry) -> str | None:
        """What the team, workspace or organization is called that was changed; None once gone."""
        return self.names.get(entry.stream_id)

    def of_token(self, entry: AuditEntry) -> str | None:
        """What the token is described as; None where it is not, and where it is gone."""
        return None if entry.token_id is None else self.descriptions.get(entry.token_id)
