"""What is taken away while somebody waits for a lock is gone when they have it, on both engines."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import asyncpg
import pytest

from teamvars.changes import answered, nouns
from teamvars.changes.making import Storing
from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found, together
from teamvars.decisions import organizations as organization_decisions
from teamvars.decisions import team_access as grant_decisions
from teamvars.decisions import teams as team_decisions
from teamvars.decisions import workspaces as workspace_decisions
from teamvars.decisions.invitations import Asked
from teamvars.decisions.needs import DetailsOf
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.access import Caller, OrganizationAccess
from teamvars.domain.applies import ApplyDraft, CopyDraft, ItemDraft
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.directory import Applied, Directory, TeamEntry, UserEntry
from teamvars.domain.errors import NO_SUCH_SOURCE, Kind, Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import InvitationDraft, LeftBehind, Status
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.team_access import AccessType
from teamvars.domain.variables import ANY_VERSION, Variable, VariableDraft
from teamvars.domain.workspaces import Workspace
from teamvars.security.tokens import hash_token
from teamvars.services.house import access_to
from teamvars.storage import access, memberships, streams, team_access, teams
from teamvars.storage.database import Transaction
from tests.services.calls import AS_WRITTEN, Calls, caller, count, draft, refusal_of
from tests.support.deployment import operator, secret_of

Ask = Callable[[], Coroutine[Any, Any, object]]


@pytest.fixture
async def meanwhile(
    both_nodes: tuple[Calls, Calls], store_url: str
) -> Callable[..., Awaitable[Awaitable[object]]]:
    """Locks streams on another node, lets somebody ask and wait for them, and changes what they
    are about to decide by; returns what becomes of it.
    """
    _, holder = both_nodes

    async def change(
        held: list[str], ask: Ask, then: Callable[[Transaction], Awaitable[object]]
    ) -> Awaitable[object]:
        async def body(tx: Transaction) -> asyncio.Task[object]:
            await streams.lock(tx, held)
            asked = asyncio.create_task(ask())
            await waits(store_url, asked)
            await then(tx)
            return asked

        return await holder.services.database.write(body)

    return change


async def test_a_workspace_that_goes_while_it_is_looked_at_is_not_found(
    both_nodes: tuple[Calls, Calls],
) -> None:
    calls, _ = both_nodes
    asked = calls.tools, Found(operator(), 0), DetailsOf(new_id("ws"))
    told = await calls.services.database.read(
        lambda tx: answered(nouns.LOOK_UPS[DetailsOf], tx, *asked)
    )
    assert isinstance(told, Refusal)
    assert told.kind is Kind.NOT_FOUND


async def waits(url: str, asked: asyncio.Task[object]) -> None:
    """Until PostgreSQL has it wait for a lock. SQLite has one writer, which the test is."""
    if url.startswith("sqlite"):
        return
    looking = await asyncpg.connect(url)
    question = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while not asked.done() and not await looking.fetchval(question):
        pass
    await looking.close()
    assert not asked.done(), "it waits for the lock"


@pytest.mark.parametrize("change", ["create", "update"])
async def test_who_loses_a_grant_and_waits_for_the_workspace_changes_nothing(
    both_nodes: tuple[Calls, Calls],
    meanwhile: Callable[..., Awaitable[Awaitable[object]]],
    change: str,
) -> None:
    calls, _ = both_nodes
    tenant, variable = calls.tenant, await calls.create(value="before")
    workspace, writers = tenant.workspaces["network"], tenant.teams["writers"]

    def ask() -> Coroutine[Any, Any, object]:
        if change == "create":
            return calls.create("writer", key="made")
        place = ToWorkspace(workspace), variable.id
        return calls.services.variables.update(
            caller(tenant, "writer"), *place, VariableDraft(value="x"), ANY_VERSION
        )

    revoke = partial(revoke_and_move, calls, writers, workspace, variable)
    asked = await meanwhile([workspace, writers], ask, revoke)
    assert await refusal_of(asked) == "not_found"
    assert await calls.list() == {"region": "before"}


@pytest.mark.parametrize("change", ["copy", "apply"])
async def test_who_loses_a_grant_and_waits_to_copy_or_to_apply_changes_nothing(
    both_nodes: tuple[Calls, Calls],
    meanwhile: Callable[..., Awaitable[Awaitable[object]]],
    change: str,
) -> None:
    calls, _ = both_nodes
    tenant = calls.tenant
    copied = await calls.create(workspace="payments", key="copied")
    target, source = tenant.workspaces["network"], tenant.workspaces["payments"]
    writers, readers = tenant.teams["writers"], tenant.teams["readers"]
    await calls.apply(
        TeamEntry("writers", workspaces={"network": AccessType.WRITE, "payments": AccessType.READ})
    )
    await calls.apply(
        TeamEntry(
            "readers",
            members=calls.named("reader", "writer"),
            workspaces={"network": AccessType.READ},
        )
    )

    def ask() -> Coroutine[Any, Any, object]:
        who = caller(tenant, "writer")
        if change == "copy":
            return calls.services.copies.copy(who, ToWorkspace(target), CopyDraft(source))
        wanted = ApplyDraft([ItemDraft(draft(key="applied"))])
        return calls.services.applies.apply(who, ToWorkspace(target), wanted, ANY_VERSION)

    revoke = partial(revoke_and_move, calls, writers, target, copied)
    asked = await meanwhile([target, writers, readers], ask, revoke)
    assert await refusal_of(asked) == "forbidden", "to read it is not enough"
    assert await calls.list() == {}


async def test_who_is_no_owner_any_more_and_waits_for_the_organization_removes_nobody(
    both_nodes: tuple[Calls, Calls], meanwhile: Callable[..., Awaitable[Awaitable[object]]]
) -> None:
    calls, _ = both_nodes
    tenant = calls.tenant
    await calls.apply(TeamEntry("owners", members=calls.named("owner", "plain", "disabled")))
    organization = await organization_of(calls)
    removed = tenant.memberships["reader"]

    def ask() -> Coroutine[Any, Any, object]:
        return calls.services.memberships.remove(caller(tenant, "plain"), removed)

    async def demote(tx: Transaction) -> None:
        owners, demoted = tenant.teams["owners"], tenant.memberships["plain"]
        await tx.write_each(memberships.putting(owners, [demoted], adds=False).part)

    asked = await meanwhile([organization, tenant.teams["owners"]], ask, demote)
    assert await refusal_of(asked) == "forbidden"
    found = await calls.services.database.read(lambda tx: memberships.get(tx, removed))
    assert found.id == removed


async def test_who_is_removed_while_a_team_of_theirs_is_deleted_is_removed(
    both_nodes: tuple[Calls, Calls], meanwhile: Callable[..., Awaitable[Awaitable[object]]]
) -> None:
    calls, _ = both_nodes
    tenant = calls.tenant
    organization, team = await organization_of(calls), tenant.teams["readers"]
    removed = tenant.memberships["reader"]

    async def delete(tx: Transaction) -> None:
        found = Found(operator(), 1, streams=await streams.lock(tx, [organization, team]))
        there = await teams.of_organizations(tx, [organization])
        (gone,) = (each for each in there if each.id == team)
        await Storing(tx, calls.tools, found).store(team_decisions.deleted(found, gone))

    asked = await meanwhile(
        [organization, team],
        lambda: calls.services.memberships.remove(caller(tenant, "owner"), removed),
        delete,
    )
    await asked
    with pytest.raises(Refusal):
        await calls.services.database.read(lambda tx: memberships.get(tx, removed))


async def test_who_waits_to_copy_what_is_deleted_meanwhile_is_told_where_they_have_named_it(
    both_nodes: tuple[Calls, Calls], meanwhile: Callable[..., Awaitable[Awaitable[object]]]
) -> None:
    calls, _ = both_nodes
    tenant, organization = calls.tenant, await organization_of(calls)
    target, source = tenant.workspaces["network"], tenant.workspaces["payments"]
    gone = Workspace(source, "payments", organization, tenant.organization)

    async def delete(tx: Transaction) -> None:
        found = Found(operator(), 1, streams=await streams.lock(tx, [organization, source]))
        await Storing(tx, calls.tools, found).store(workspace_decisions.deleted(found, gone))

    def ask() -> Coroutine[Any, Any, object]:
        who = caller(tenant, "owner")
        return calls.services.copies.copy(who, ToWorkspace(target), CopyDraft(source))

    asked = await meanwhile([organization, source], ask, delete)
    with pytest.raises(Refusal) as refused:
        await asked
    assert refused.value.faults == (NO_SUCH_SOURCE,)


async def test_a_file_makes_an_organization_anew_that_is_deleted_while_it_waits(
    both_nodes: tuple[Calls, Calls], meanwhile: Callable[..., Awaitable[Awaitable[object]]]
) -> None:
    calls, _ = both_nodes
    held, name = [await organization_of(calls)], calls.tenant.organization
    asked = await meanwhile(held, partial(calls.apply, workspaces=("made",)), deleting(calls))
    assert await asked == (f"create organization {name}", f"create workspace {name}/made")
    assert await calls.node.audit_holds()


async def test_what_somebody_leaves_goes_with_an_organization_that_is_deleted_meanwhile(
    both_nodes: tuple[Calls, Calls], meanwhile: Callable[..., Awaitable[Awaitable[object]]]
) -> None:
    calls, _ = both_nodes
    held, (owner,) = [await organization_of(calls)], calls.named("owner")
    ended: list[LeftBehind] = []
    end = partial(calls.services.operator_leavers.end, operator(), owner, ended.append)
    await (await meanwhile(held, end, deleting(calls)))
    assert ended == []


async def test_who_is_disabled_while_a_file_changes_them_is_told_as_that(
    both_nodes: tuple[Calls, Calls], store_url: str
) -> None:
    (calls, other), (name,) = both_nodes, both_nodes[0].named("plain")
    directory = Directory(users=(UserEntry(name, email=f"{new_id('user')}@example.com"),))

    async def disable(tx: Transaction) -> asyncio.Task[Applied]:
        await tx.execute("UPDATE users SET disabled = 1 WHERE username = $1", name)
        applying = calls.services.directory.apply(operator(), directory, AS_WRITTEN)
        asked = asyncio.create_task(applying)
        await waits(store_url, asked)
        return asked

    applied = await (await other.services.database.write(disable))
    assert applied.disabled == (name,)
    assert applied.changes


async def test_who_loses_the_right_to_read_is_shown_nothing_that_is_written_since(
    both_nodes: tuple[Calls, Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, other = both_nodes
    place, who = ToWorkspace(calls.tenant.workspaces["network"]), caller(calls.tenant, "reader")
    variable = await calls.create(value="before")

    async def then_written(*asked: Any) -> Any:
        granted = await access_to(*asked)
        by, draft = caller(calls.tenant, "owner"), VariableDraft(value="after")
        await other.services.variables.update(by, place, variable.id, draft, ANY_VERSION)
        return granted

    monkeypatch.setattr("teamvars.services.variables.access_to", then_written)
    seen = await calls.services.variables.read(who, place, variable.id)
    assert seen.variable.value == "before"


class Between:
    """A transaction in which something happens before each look but the first."""

    def __init__(self, tx: Transaction, happens: Callable[[], Awaitable[object]]) -> None:
        self.fetch_one = tx.fetch_one
        self._tx = tx
        self._happens = happens

    async def fetch(self, *asked: Any) -> Any:
        await self._happens()
        return await self._tx.fetch(*asked)


async def test_who_has_a_right_and_no_token_any_more_is_unauthenticated(
    both_nodes: tuple[Calls, Calls],
) -> None:
    calls, other = both_nodes
    id_, who = await organization_of(calls), caller(calls.tenant, "writer")

    async def revoke() -> None:
        gone = "DELETE FROM tokens WHERE hash = $1"
        await other.services.database.write(lambda tx: tx.execute(gone, who.token_hash))

    async def look(tx: Transaction) -> OrganizationAccess:
        between: Any = Between(tx, revoke)
        return await access.organization(between, who, 1, id_)

    assert await refusal_of(calls.services.database.query(look)) == "unauthenticated"


async def test_whose_token_expires_while_they_wait_for_a_lock_changes_nothing(
    both_nodes: tuple[Calls, Calls],
    meanwhile: Callable[..., Awaitable[Awaitable[object]]],
) -> None:
    calls, _ = both_nodes
    id_, who = await organization_of(calls), caller(calls.tenant, "owner")

    async def expire(tx: Transaction) -> None:
        # Until then it was good, and what waits has begun before.
        now = calls.services.database.now()
        await tx.execute("UPDATE tokens SET expires_at = $2 WHERE hash = $1", who.token_hash, now)

    name, draft = calls.tenant.organization, OrganizationDraft(email="new@example.com")
    change = calls.services.organizations.update
    asked = await meanwhile([id_], lambda: change(who, name, draft), expire)
    assert await refusal_of(asked) == "unauthenticated"


DISABLED = (
    "UPDATE users SET disabled = 1 WHERE id = (SELECT user_id FROM memberships WHERE id = $1)"
)


async def test_who_waits_with_a_pasted_token_while_members_come_to_have_to_sign_in_changes_nothing(
    both_nodes: tuple[Calls, Calls],
    meanwhile: Callable[..., Awaitable[Awaitable[object]]],
) -> None:
    calls, _ = both_nodes
    id_, name = await organization_of(calls), calls.tenant.organization
    draft = OrganizationDraft(email="new@example.com")

    async def require(tx: Transaction) -> None:
        await tx.execute("UPDATE organizations SET sso_required = 1 WHERE id = $1", id_)

    asked = await meanwhile(
        [id_],
        lambda: calls.services.organizations.update(caller(calls.tenant, "owner"), name, draft),
        require,
    )
    assert await refusal_of(asked) == "not_found"
    as_organization = caller(calls.tenant, "organization-token")
    seen = await calls.services.organizations.read(as_organization, name)
    assert seen.organization.email is None


async def test_who_waits_for_a_workspace_while_members_come_to_have_to_sign_in_writes_nothing(
    both_nodes: tuple[Calls, Calls],
    meanwhile: Callable[..., Awaitable[Awaitable[object]]],
) -> None:
    calls, _ = both_nodes
    workspace, variable = calls.tenant.workspaces["network"], await calls.create(value="before")
    id_ = await organization_of(calls)

    async def require(tx: Transaction) -> None:
        await tx.execute("UPDATE organizations SET sso_required = 1 WHERE id = $1", id_)
        found, _ = await revoking(tx, calls.tenant.teams["writers"], workspace)
        # Whoever had the lock has changed something.
        note = found.note(workspace, "variable.delete", variable.id, variable.audited())
        found.streams |= await streams.lock(tx, [workspace])
        await Storing(tx, calls.tools, found).store(Decision(None, notes=(note,)))

    asked = await meanwhile([workspace], lambda: calls.create("writer", key="made"), require)
    assert await refusal_of(asked) == "not_found"


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ("DELETE FROM invitations WHERE membership_id = $1", "invalid_value"),
        (DISABLED, "forbidden"),
    ],
    ids=["taken back", "disabled"],
)
async def test_who_accepts_by_a_link_that_is_taken_back_meanwhile_comes_to_nothing(
    both_nodes: tuple[Calls, Calls],
    meanwhile: Callable[..., Awaitable[Awaitable[object]]],
    change: str,
    refused: str,
) -> None:
    calls, _ = both_nodes
    asked_for = Asked(f"{new_id('user')}@example.com", calls.tenant.organization)
    issued = await calls.services.operator_invitations.create(operator(), asked_for, show=True)

    def ask() -> Coroutine[Any, Any, object]:
        by = Caller(hash_token(secret_of(issued)), new_id("req"))
        return calls.services.invitation_links.accept(by, secret_of(issued))

    async def take_back(tx: Transaction) -> None:
        await tx.execute(change, issued.membership.id)

    organization = await organization_of(calls)
    asked = await meanwhile([organization, SYSTEM_STREAM], ask, take_back)
    assert await refusal_of(asked) == refused
    await still_invited(calls, issued.membership.id)
    question = "SELECT count(*) FROM tokens WHERE user_id = $1"
    assert await count(calls.services.database, question, issued.membership.user.id) == 0


async def test_who_accepts_an_invitation_that_is_taken_back_meanwhile_comes_to_nothing(
    both_nodes: tuple[Calls, Calls], meanwhile: Callable[..., Awaitable[Awaitable[object]]]
) -> None:
    calls, _ = both_nodes
    tenant = calls.tenant
    outsider = await calls.services.accounts.show(tenant.users["outsider"])
    page = await calls.services.invitations.invite(
        caller(tenant, "owner"), tenant.organization, InvitationDraft(outsider.user.email)
    )
    (made,) = page.memberships

    def ask() -> Coroutine[Any, Any, object]:
        return calls.services.invitations.accept(caller(tenant, "outsider"), made.id)

    async def expire(tx: Transaction) -> None:
        await tx.execute("UPDATE invitations SET expires_at = 1 WHERE membership_id = $1", made.id)

    asked = await meanwhile([await organization_of(calls)], ask, expire)
    assert await refusal_of(asked) == "not_found"
    await still_invited(calls, made.id)


async def test_of_many_who_accept_one_invitation_all_succeed_and_it_is_accepted_once(
    both_nodes: tuple[Calls, Calls],
) -> None:
    calls, other = both_nodes
    tenant = calls.tenant
    invited = tenant.memberships["invited"]
    await asyncio.gather(
        *(
            node.services.invitations.accept(caller(tenant, "invited"), invited)
            for node in (calls, other, calls, other)
        )
    )
    question = (
        "SELECT count(*) FROM audit_entries WHERE subject_id = $1 AND action = 'membership.update'"
    )
    assert await count(calls.services.database, question, invited) == 1


async def revoking(tx: Transaction, team_id: str, ws_id: str) -> tuple[Found, Decision[None]]:
    """A team that is locked loses its access to a workspace: what an operator decides."""
    found = Found(operator(), 1)
    found.streams |= await streams.lock(tx, [team_id])
    given = [
        each
        for each in await team_access.ON_WORKSPACES.of_teams(tx, [team_id])
        if each.workspace_id == ws_id
    ]
    return found, grant_decisions.deleted(found, team_id, given)


async def revoke_and_move(
    calls: Calls, team_id: str, workspace_id: str, variable: Variable, tx: Transaction
) -> None:
    """Takes a grant away, and moves the workspace's stream, which says that what was seen before it
    was is old.
    """
    found, revoked = await revoking(tx, team_id, workspace_id)
    note = found.note(workspace_id, "variable.delete", new_id("var"), variable.audited())
    found.streams |= await streams.lock(tx, [workspace_id])
    decision = together(None, revoked, Decision(None, notes=(note,)))
    await Storing(tx, calls.tools, found).store(decision)


def deleting(calls: Calls) -> Callable[[Transaction], Awaitable[object]]:
    """What deletes the tenant's organization."""
    who, name = caller(calls.tenant, "owner"), calls.tenant.organization
    decide = partial(organization_decisions.delete, name=name, force=True)
    return partial(calls.services.changes._stored, Change(who, None, decide), {})


async def organization_of(calls: Calls) -> str:
    """The id of the tenant's organization."""
    membership = calls.tenant.memberships["owner"]
    found = await calls.services.database.read(lambda tx: memberships.get(tx, membership))
    return found.organization_id


async def still_invited(calls: Calls, membership_id: str) -> None:
    """Asserts that nothing was accepted, and that the trail holds."""
    found = await calls.services.database.read(lambda tx: memberships.get(tx, membership_id))
    assert found.status is Status.INVITED
    assert await calls.node.audit_holds()
