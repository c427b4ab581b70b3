"""What somebody who leaves an organization leaves behind in it."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.memberships import Membership
from teamvars.domain.runners import Runner
from teamvars.domain.teams import Team
from teamvars.domain.tokens import Token


class LeftBehind(msgspec.Struct, frozen=True):
    """What goes on without them: `tokens` of the organization and its teams that they made, runners
    that they proposed, and invitations that they sent and nobody has accepted; and the teams in
    which nobody else is who can act.
    """

    organization_id: str
    organization: str
    user_id: str
    tokens: Sequence[Token]
    runners: Sequence[Runner]
    invitations: Sequence[Membership]
    teams: Sequence[Team]

    @property
    def is_nothing(self) -> bool:
        """Whether there is none of it."""
        return not (self.tokens or self.runners or self.invitations or self.teams)
