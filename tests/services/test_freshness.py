"""What was taken away is gone for every request that begins after it, on every node."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from teamvars.decisions.users import Disabling
from teamvars.domain.directory import TeamEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import LinkageType, Status
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import Visibility
from teamvars.domain.tokens import OwnerName
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.services.directory_files.files import Options
from tests.services.calls import Calls, caller, caller_with, refusal_of
from tests.support.deployment import operator


async def test_a_revoked_token_authenticates_nobody(both_nodes: tuple[Calls, Calls]) -> None:
    one, other = both_nodes
    owner = OwnerName(user=one.named("writer")[0])
    new = await one.services.tokens.create(operator(), owner, None)
    assert await other.list_with(new.secret) == {}
    await one.services.issued_tokens.revoke(operator(), new.token.id)
    for calls in both_nodes:
        assert await refusal_of(calls.list_with(new.secret)) == "unauthenticated"
        asked_who = calls.services.sessions.authenticate(caller_with(new.secret))
        assert await refusal_of(asked_who) == "unauthenticated"


async def test_a_disabled_user_is_nobody_on_every_node_until_enabled(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    await other.create("writer", key="before")
    who = one.tenant.users["writer"]
    await one.services.accounts.disable(operator(), who, Disabling())
    for calls in both_nodes:
        asking = caller(calls.tenant, "writer")
        team = calls.tenant.teams["crew"]
        for refused in (
            calls.list("writer"),
            calls.create("writer", key="after"),
            calls.change("add", "plain", who="writer"),
            calls.services.sessions.authenticate(asking),
            calls.services.organizations.read(asking, calls.tenant.organization),
            calls.services.team_members.list(asking, team, LinkageType.USERS),
        ):
            assert await refusal_of(refused) == "unauthenticated"
        # Those who ask at the same time share a statement, and not its answer.
        both = [calls.list(name) for name in ("writer", "reader") * 8]
        answers = await asyncio.gather(*both, return_exceptions=True)
        assert [isinstance(answer, Refusal) for answer in answers] == [True, False] * 8
        assert await calls.list("writers-token") == {"before": "eu"}
    await one.services.accounts.enable(operator(), who)
    assert await other.list("writer") == {"before": "eu"}


async def test_an_expired_token_authenticates_nobody(calls: Calls) -> None:
    owner = OwnerName(organization=calls.tenant.organization)
    token = await calls.services.tokens.create(operator(), owner, 1)
    assert await refusal_of(calls.list_with(token.secret)) == "unauthenticated"


async def test_a_token_goes_with_its_team(both_nodes: tuple[Calls, Calls]) -> None:
    one, other = both_nodes
    assert await other.list("writers-token") == {}
    await _prune(one)
    assert await refusal_of(other.list("writers-token")) == "unauthenticated"


async def _remove_grant(calls: Calls) -> None:
    await calls.apply(TeamEntry("writers", workspaces={}))


async def _remove_from_team(calls: Calls) -> None:
    await calls.change("remove", "writer", team="writers")


async def _make_invited(calls: Calls) -> None:
    await calls.apply(members={calls.named("writer")[0]: Status.INVITED})


async def _prune(calls: Calls) -> None:
    """Leaves the organization nothing but its owner and its workspaces."""
    await calls.apply(
        TeamEntry("owners"),
        members={calls.named("owner")[0]: Status.ACTIVE},
        workspaces=("network", "payments"),
        options=Options(prune=True),
    )


@pytest.mark.parametrize("take_away", [_remove_grant, _remove_from_team, _make_invited, _prune])
async def test_who_loses_the_right_to_a_workspace_does_not_see_it_any_more(
    both_nodes: tuple[Calls, Calls], take_away: Callable[[Calls], Awaitable[None]]
) -> None:
    one, other = both_nodes
    await other.create("writer", key="before")
    await take_away(one)
    for calls in both_nodes:
        assert await refusal_of(calls.list("writer")) == "not_found"
        assert await refusal_of(calls.create("writer", key="after")) == "not_found"


async def test_a_grant_that_shrinks_to_read_does_not_write_any_more(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    await one.apply(TeamEntry("writers", workspaces={"network": AccessType.READ}))
    assert await other.list("writer") == {}
    assert await refusal_of(other.create("writer")) == "forbidden"


async def test_an_invited_member_has_rights_once_the_invitation_is_accepted(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    assert await refusal_of(other.list("invited_writer")) == "not_found"
    await one.apply(members={one.named("invited_writer")[0]: Status.ACTIVE})
    await other.create("invited_writer")


async def test_whoever_leaves_the_owners_is_an_owner_no_more(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    await one.change("add", "plain", team="owners")
    await other.create("plain", workspace="payments")
    await one.change("remove", "plain", team="owners")
    assert await refusal_of(other.list("plain", workspace="payments")) == "not_found"


async def test_whoever_may_not_manage_members_any_more_does_not(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    await other.change("add", "plain", who="manager")
    await one.apply(TeamEntry("managers", manage_membership=False))
    assert await refusal_of(other.change("remove", "plain", who="manager")) == "forbidden"


async def test_a_team_that_becomes_secret_is_hidden_from_those_outside(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    team = one.tenant.teams["crew"]

    def look() -> Awaitable[list[str]]:
        asking = caller(other.tenant, "plain")
        return other.services.team_members.list(asking, team, LinkageType.USERS)

    assert await look() == []
    await one.apply(TeamEntry("crew", visibility=Visibility.SECRET))
    assert await refusal_of(look()) == "not_found"


async def _rename_organization(calls: Calls, name: str) -> None:
    draft = OrganizationDraft(name=name)
    asking = caller(calls.tenant, "owner")
    await calls.services.organizations.update(asking, calls.tenant.organization, draft)


async def _rename_workspace(calls: Calls, name: str) -> None:
    workspace_id = calls.tenant.workspaces["network"]
    asking = caller(calls.tenant, "owner")
    await calls.services.workspaces.update(asking, workspace_id, WorkspaceDraft(name=name))


@pytest.mark.parametrize("rename", [_rename_organization, _rename_workspace])
async def test_a_list_that_was_shown_before_a_rename_is_shown_with_the_new_name_on_every_node(
    both_nodes: tuple[Calls, Calls], rename: Callable[[Calls, str], Awaitable[None]]
) -> None:
    one, other = both_nodes
    path = one.tenant.vars_path()
    headers = {"Authorization": f"Bearer {one.tenant.tokens['reader']}"}
    await one.create()
    before = [await calls.node.client.get(path, headers=headers) for calls in both_nodes]
    name = f"renamed-{uuid4().hex}"
    await rename(one, name)
    for calls, old in zip((other, one), before[::-1], strict=True):
        known = {**headers, "If-None-Match": old.headers["ETag"]}
        answer = await calls.node.client.get(path, headers=known)
        assert answer.status_code == 200
        (variable,) = answer.json()["data"]
        assert name in variable["relationships"]["configurable"]["links"]["related"]
