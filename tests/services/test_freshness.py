"""What was taken away is gone for every request that begins after it, on every node."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from teamvars.domain.directory import TeamEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import Status
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.team_members import LinkageType
from teamvars.domain.teams import Visibility
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.services.accounts import Disabling
from teamvars.services.directory_files.files import Options
from teamvars.services.tokens import OwnerName
from tests.house import operator
from tests.services.people import Desk, caller, caller_with, refusal_of


async def test_a_revoked_token_authenticates_nobody(desks: tuple[Desk, Desk]) -> None:
    one, other = desks
    owner = OwnerName(user=one.named("writer")[0])
    new = await one.services.tokens.create(operator(), owner, None)
    assert await other.list_with(new.secret) == {}
    await one.services.issued_tokens.revoke(operator(), new.token.id)
    for desk in desks:
        assert await refusal_of(desk.list_with(new.secret)) == "unauthenticated"
        asked_who = desk.services.sessions.authenticate(caller_with(new.secret))
        assert await refusal_of(asked_who) == "unauthenticated"


async def test_a_disabled_user_is_nobody_on_every_node_until_enabled(
    desks: tuple[Desk, Desk],
) -> None:
    one, other = desks
    await other.create("writer", key="before")
    who = one.world.users["writer"]
    await one.services.accounts.disable(operator(), who, Disabling())
    for desk in desks:
        asking = caller(desk.world, "writer")
        team = desk.world.teams["crew"]
        for refused in (
            desk.list("writer"),
            desk.create("writer", key="after"),
            desk.change("add", "plain", who="writer"),
            desk.services.sessions.authenticate(asking),
            desk.services.organizations.read(asking, desk.world.organization),
            desk.services.members.list(asking, team, LinkageType.USERS),
        ):
            assert await refusal_of(refused) == "unauthenticated"
        # Those who ask at the same time share a statement, and not its answer.
        both = [desk.list(name) for name in ("writer", "reader") * 8]
        answers = await asyncio.gather(*both, return_exceptions=True)
        assert [isinstance(answer, Refusal) for answer in answers] == [True, False] * 8
        assert await desk.list("writers-token") == {"before": "eu"}
    await one.services.accounts.enable(operator(), who)
    assert await other.list("writer") == {"before": "eu"}


async def test_an_expired_token_authenticates_nobody(desk: Desk) -> None:
    owner = OwnerName(organization=desk.world.organization)
    token = await desk.services.tokens.create(operator(), owner, 1)
    assert await refusal_of(desk.list_with(token.secret)) == "unauthenticated"


async def test_a_token_goes_with_its_team(desks: tuple[Desk, Desk]) -> None:
    one, other = desks
    assert await other.list("writers-token") == {}
    await _prune(one)
    assert await refusal_of(other.list("writers-token")) == "unauthenticated"


async def _remove_grant(desk: Desk) -> None:
    await desk.apply(TeamEntry("writers", workspaces={}))


async def _remove_from_team(desk: Desk) -> None:
    await desk.change("remove", "writer", team="writers")


async def _make_invited(desk: Desk) -> None:
    await desk.apply(members={desk.named("writer")[0]: Status.INVITED})


async def _prune(desk: Desk) -> None:
    """Leaves the organization nothing but its owner and its workspaces."""
    await desk.apply(
        TeamEntry("owners"),
        members={desk.named("owner")[0]: Status.ACTIVE},
        workspaces=("network", "payments"),
        options=Options(prune=True),
    )


@pytest.mark.parametrize("take_away", [_remove_grant, _remove_from_team, _make_invited, _prune])
async def test_who_loses_the_right_to_a_workspace_does_not_see_it_any_more(
    desks: tuple[Desk, Desk], take_away: Callable[[Desk], Awaitable[None]]
) -> None:
    one, other = desks
    await other.create("writer", key="before")
    await take_away(one)
    for desk in desks:
        assert await refusal_of(desk.list("writer")) == "not_found"
        assert await refusal_of(desk.create("writer", key="after")) == "not_found"


async def test_a_grant_that_shrinks_to_read_does_not_write_any_more(
    desks: tuple[Desk, Desk],
) -> None:
    one, other = desks
    await one.apply(TeamEntry("writers", workspaces={"network": AccessType.READ}))
    assert await other.list("writer") == {}
    assert await refusal_of(other.create("writer")) == "forbidden"


async def test_an_invited_member_has_rights_once_the_invitation_is_accepted(
    desks: tuple[Desk, Desk],
) -> None:
    one, other = desks
    assert await refusal_of(other.list("invited_writer")) == "not_found"
    await one.apply(members={one.named("invited_writer")[0]: Status.ACTIVE})
    await other.create("invited_writer")


async def test_whoever_leaves_the_owners_is_an_owner_no_more(desks: tuple[Desk, Desk]) -> None:
    one, other = desks
    await one.change("add", "plain", team="owners")
    await other.create("plain", workspace="payments")
    await one.change("remove", "plain", team="owners")
    assert await refusal_of(other.list("plain", workspace="payments")) == "not_found"


async def test_whoever_may_not_manage_members_any_more_does_not(desks: tuple[Desk, Desk]) -> None:
    one, other = desks
    await other.change("add", "plain", who="manager")
    await one.apply(TeamEntry("managers", manage_membership=False))
    assert await refusal_of(other.change("remove", "plain", who="manager")) == "forbidden"


async def test_a_team_that_becomes_secret_is_hidden_from_those_outside(
    desks: tuple[Desk, Desk],
) -> None:
    one, other = desks
    team = one.world.teams["crew"]

    def look() -> Awaitable[list[str]]:
        asking = caller(other.world, "plain")
        return other.services.members.list(asking, team, LinkageType.USERS)

    assert await look() == []
    await one.apply(TeamEntry("crew", visibility=Visibility.SECRET))
    assert await refusal_of(look()) == "not_found"


async def _rename_organization(desk: Desk, name: str) -> None:
    draft = OrganizationDraft(name=name)
    asking = caller(desk.world, "owner")
    await desk.services.organizations.update(asking, desk.world.organization, draft)


async def _rename_workspace(desk: Desk, name: str) -> None:
    workspace_id = desk.world.workspaces["network"]
    asking = caller(desk.world, "owner")
    await desk.services.workspaces.update(asking, workspace_id, WorkspaceDraft(name=name))


@pytest.mark.parametrize("rename", [_rename_organization, _rename_workspace])
async def test_a_list_that_was_shown_before_a_rename_is_shown_with_the_new_name_on_every_node(
    desks: tuple[Desk, Desk], rename: Callable[[Desk, str], Awaitable[None]]
) -> None:
    one, other = desks
    path = one.world.vars_path()
    headers = {"Authorization": f"Bearer {one.world.tokens['reader']}"}
    await one.create()
    before = [await desk.node.client.get(path, headers=headers) for desk in desks]
    name = f"renamed-{uuid4().hex}"
    await rename(one, name)
    for desk, old in zip((other, one), before[::-1], strict=True):
        known = {**headers, "If-None-Match": old.headers["ETag"]}
        answer = await desk.node.client.get(path, headers=known)
        assert answer.status_code == 200
        (variable,) = answer.json()["data"]
        assert name in variable["relationships"]["configurable"]["links"]["related"]
