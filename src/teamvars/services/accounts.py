"""Users as the operator keeps them: looks at them, disables and enables them, and renames them."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.holders import WorkspaceHolders
from teamvars.domain.memberships import Membership, MembershipFilter
from teamvars.domain.names import USERNAME_RULE, is_username, name_taken
from teamvars.domain.tokens import IssuedToken
from teamvars.domain.users import User
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import tokens as token_changes
from teamvars.services.directory import users as user_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import (
    holders,
    issued_tokens,
    memberships,
    operator_names,
    teams,
    tokens,
    users,
)
from teamvars.storage.database import Database, Taken, Transaction
from teamvars.storage.memberships import Within


class Account(msgspec.Struct, frozen=True):
    """A user with all that is theirs: memberships, the teams these name by id, and tokens.

    `made` are the tokens of teams and organizations that the user made, which outlive them.
    """

    user: User
    memberships: Sequence[Membership]
    teams: Mapping[str, str]
    tokens: Sequence[IssuedToken]
    made: Sequence[IssuedToken]


class Disabling(msgspec.Struct, frozen=True):
    """How to disable a user.

    `force`: although an organization has no other active owner. `with_made_tokens`: revoke the
    tokens of teams and organizations that the user made.
    """

    force: bool = False
    with_made_tokens: bool = False


class Disabled(msgspec.Struct, frozen=True):
    """Who is disabled now, the tokens of others they made, and whether those were revoked."""

    user: User
    made: Sequence[IssuedToken]
    revoked: bool


class Accounts:
    """What an operator does with users, who go by name, e-mail address or id.

    All methods refuse: not found, a name that is one user's and the address of another.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def list(self) -> list[User]:
        """All users, by name."""
        return await self._database.read(users.every)

    async def show(self, who: str) -> Account:
        """One user."""

        async def body(tx: Transaction) -> Account:
            user = await users.find_one(tx, who)
            within = Within(user_id=user.id)
            found = await memberships.search(tx, within, MembershipFilter(), None)
            whole = await memberships.with_teams(tx, found.items, None)
            named = await teams.find_by_ids(tx, {id_ for one in whole for id_ in one.team_ids})
            return Account(
                user,
                whole,
                {team.id: team.name for team in named},
                await issued_tokens.of_user(tx, user.id),
                await issued_tokens.made_by(tx, user.id),
            )

        return await self._database.read(body)

    async def holders(self, organization: str, workspace: str) -> WorkspaceHolders:
        """Who holds rights to a workspace. Refuses: not found."""

        async def body(tx: Transaction) -> WorkspaceHolders:
            found = await operator_names.workspace(tx, organization, workspace)
            return await holders.of_workspace(tx, found, self._clock())

        return await self._database.read(body)

    async def disable(self, caller: Caller, who: str, how: Disabling) -> Disabled:
        """Refuses all tokens of a user, on every node, from the moment this returns.

        Tokens and memberships stay, and give nothing until the user is enabled. Refuses, unless
        forced, the last active owner of an organization.
        """

        async def body(tx: Transaction) -> Disabled:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            user = await self._locked(ledger, who, how)
            if not user.disabled:
                alone = await users.owned_alone(tx, user.id)
                if not how.force:
                    refuse_all(_last_owner(user, name) for name in alone)
                await user_changes.set_disabled(ledger, user, True, alone)
            made = await issued_tokens.made_by(tx, user.id)
            for issued in made if how.with_made_tokens else ():
                await token_changes.revoke(ledger, issued.token)
            return Disabled(replace(user, disabled=True), made, how.with_made_tokens)

        return await self._database.write(body)

    async def enable(self, caller: Caller, who: str) -> User:
        """Lets a user be what they were before they were disabled."""

        async def body(tx: Transaction) -> User:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            await ledger.lock([SYSTEM_STREAM])
            user = await users.find_one(tx, who)
            if user.disabled:
                await user_changes.set_disabled(ledger, user, False)
            return replace(user, disabled=False)

        return await self._database.write(body)

    async def rename(self, caller: Caller, who: str, username: str) -> User:
        """Gives a user another name. Refuses: a name that cannot be, or that another user has."""
        if not is_username(username):
            raise Refusal(Fault(Code.INVALID_VALUE, f"A user name has {USERNAME_RULE}."))

        async def body(tx: Transaction) -> User:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            await ledger.lock([SYSTEM_STREAM])
            user = await users.find_one(tx, who)
            renamed = replace(user, username=username)
            if renamed != user:
                await user_changes.update(ledger, [(user, renamed)])
            return renamed

        try:
            return await self._database.write(body)
        except Taken:
            raise Refusal(Fault(Code.NAME_TAKEN, name_taken("a user").detail)) from None

    async def _locked(self, ledger: Ledger, who: str, how: Disabling) -> User:
        """The user, with the streams locked in which owners of their organizations change."""

        async def look() -> tuple[User, set[str]]:
            user = await users.find_one(ledger.tx, who)
            wanted = {SYSTEM_STREAM, *await users.owner_streams(ledger.tx, user.id)}
            if how.with_made_tokens:
                made = await issued_tokens.made_by(ledger.tx, user.id)
                wanted |= {tokens.stream_of(issued.token) for issued in made}
            return user, wanted

        user, _ = await ledger.locked(look, lambda seen: seen[1])
        return user


def _last_owner(user: User, organization: str) -> Fault:
    detail = (
        f"{user.username} is the last active owner of {organization}. Name another, or say --force."
    )
    return Fault(Code.LAST_OWNER, detail)
