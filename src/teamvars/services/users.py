"""Users: who calls and who is beside them, and how the operator keeps all of them."""

from collections.abc import Mapping, Sequence
from typing import Never

import msgspec

from teamvars.decisions import sign_ins
from teamvars.decisions import users as decisions
from teamvars.domain.access import Caller, WorkspaceHolders
from teamvars.domain.errors import forbidden, not_found
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import Membership, MembershipFilter
from teamvars.domain.sign_ins import Identity
from teamvars.domain.tokens import IssuedToken
from teamvars.domain.users import User
from teamvars.services.house import UseCases, glances, looks, makes, reads
from teamvars.storage import access_by_name, memberships, team_access, teams, tokens, users
from teamvars.storage import sign_ins as identities
from teamvars.storage.database import Transaction


class UserView(msgspec.Struct, frozen=True):
    """A user; a team or organization that calls by its own token is a service account.

    `may_create_organizations` is told to the caller alone, and None of anybody else.
    """

    id: str
    username: str
    email: str | None
    is_service_account: bool = False
    may_create_organizations: bool | None = None


class Users(UseCases):
    """What callers learn of users. All methods refuse unauthenticated."""

    require_site_admin = looks(decisions.see_metrics)

    @glances
    async def refuse_change(self, tx: Transaction, caller: Caller) -> Never:
        """Nobody changes a user by the API. Refuses: forbidden."""
        await self._actor(tx, caller)
        raise forbidden("Only the operator changes a user, with 'teamvars user'.")

    @reads
    async def read_caller(self, tx: Transaction, caller: Caller) -> UserView:
        """Whoever calls."""
        actor = await self._actor(tx, caller)
        if actor.kind != "user":
            return UserView(actor.id, f"api-{actor.kind}-{actor.id}", None, True, False)
        user = await users.find(tx, actor.id)
        assert user is not None  # tokens go with their user
        return UserView(
            user.id,
            user.username,
            user.email,
            may_create_organizations=user.site_admin and caller.reach is None,
        )

    @reads
    async def read(self, tx: Transaction, caller: Caller, user_id: str) -> UserView:
        """The caller, or somebody of an organization the caller is in. Refuses: not found."""
        actor = await self._actor(tx, caller)
        user = await users.find_beside(tx, actor, user_id)
        if user is None:
            raise not_found()
        return UserView(user.id, user.username, user.email)


class Account(msgspec.Struct, frozen=True):
    """A user with all that is theirs: memberships, the teams these name by id, and tokens.

    `made` are the tokens of teams and organizations that the user made, which outlive them, and
    `identities` the names by which providers mean the user.
    """

    user: User
    memberships: Sequence[Membership]
    teams: Mapping[str, str]
    tokens: Sequence[IssuedToken]
    made: Sequence[IssuedToken]
    identities: Sequence[Identity] = ()


class Accounts(UseCases):
    """What an operator does with users, who go by name, e-mail address or id.

    All methods refuse: not found, a name that is one user's and the address of another.
    """

    disable = makes(decisions.disable)
    enable = makes(decisions.enable)
    rename = makes(decisions.rename)
    unlink = makes(sign_ins.unlink)

    async def link(self, caller: Caller, who: str, issuer: str, subject: str) -> User:
        """See `decisions.sign_ins.link`."""
        return await self._make(caller, sign_ins.link, who, issuer, subject, new_id("id"))

    async def list(self) -> list[User]:
        """All users, by name."""
        return await self._database.read(users.every)

    @reads
    async def show(self, tx: Transaction, who: str) -> Account:
        """One user."""
        user = await users.find_one(tx, who)
        within = memberships.Within(user_id=user.id)
        found = await memberships.search(tx, within, MembershipFilter(), None)
        whole = await memberships.with_teams(tx, found.items, None)
        named = await teams.find_by_ids(tx, {id_ for one in whole for id_ in one.team_ids})
        return Account(
            user,
            whole,
            {team.id: team.name for team in named},
            await tokens.meant(tx, "user", user.id),
            await tokens.meant(tx, "maker", user.id),
            await identities.identities_of(tx, user.id),
        )

    @reads
    async def holders(self, tx: Transaction, organization: str, workspace: str) -> WorkspaceHolders:
        """Who holds rights to a workspace. Refuses: not found."""
        found = await access_by_name.workspace_meant(tx, organization, workspace)
        return await team_access.holders(tx, found, self._clock())
