"""A disabled owner is no owner, and two who leave at once do not leave nobody."""

import asyncio
from collections.abc import Awaitable

import pytest

from teamvars.domain.directory import TeamEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import Status
from teamvars.services.accounts import Disabling
from tests.house import operator
from tests.services.people import Desk, caller, refusal_of


async def test_the_only_other_owner_being_disabled_nobody_can_be_the_last(desk: Desk) -> None:
    """The world's `disabled` is an owner, and does not count beside `owner`."""
    owner = desk.named("owner")[0]
    assert await refusal_of(desk.change("remove", "owner", team="owners")) == "last_owner"
    leaving = caller(desk.world, "owner"), desk.world.memberships["owner"]
    assert await refusal_of(desk.services.memberships.remove(*leaving)) == "last_owner"
    assert await refusal_of(desk.apply(members={owner: Status.INVITED})) == "last_owner"
    disabled = desk.named("disabled")
    assert await refusal_of(desk.apply(TeamEntry("owners", members=disabled))) == "last_owner"
    asked = desk.services.accounts.disable(operator(), owner, Disabling())
    assert await refusal_of(asked) == "last_owner"
    await desk.services.accounts.enable(operator(), disabled[0])
    await desk.change("remove", "owner", team="owners")


async def test_a_disabled_owner_may_be_removed(desk: Desk) -> None:
    await desk.change("remove", "disabled", team="owners")
    leaving = caller(desk.world, "owner"), desk.world.memberships["disabled"]
    await desk.services.memberships.remove(*leaving)


@pytest.mark.parametrize("way", ["disable", "remove"])
async def test_of_two_owners_who_go_at_once_one_stays(desks: tuple[Desk, Desk], way: str) -> None:
    one, other = desks
    await one.change("add", "plain", team="owners")
    for _ in range(4):
        users = one.world.users
        going: list[Awaitable[object]] = [
            one.services.accounts.disable(operator(), users["plain"], Disabling())
        ]
        if way == "disable":
            going.append(other.services.accounts.disable(operator(), users["owner"], Disabling()))
        else:  # by a token that does not lose the right to ask
            removal = other.change("remove", "owner", team="owners", who="organization-token")
            going.append(removal)
        done = await asyncio.gather(*going, return_exceptions=True)
        refused = [found for found in done if isinstance(found, BaseException)]
        assert [isinstance(refusal, Refusal) for refusal in refused] == [True]
        for person in ("plain", "owner"):
            await one.services.accounts.enable(operator(), one.world.users[person])
        await one.change("add", "owner", team="owners", who="organization-token")


async def test_the_tokens_that_were_made_are_revoked_in_the_streams_of_their_owners(
    desk: Desk,
) -> None:
    made = await desk.world.call(
        "owner", "POST", f"/teams/{desk.world.teams['crew']}/authentication-token"
    )
    assert made.status_code == 201
    how = Disabling(force=True, with_made_tokens=True)
    done = await desk.services.accounts.disable(operator(), desk.world.users["owner"], how)
    assert [issued.title for issued in done.made] == [f"team {desk.world.organization}/crew"]
    text = made.json()["data"]["attributes"]["token"]
    assert await refusal_of(desk.list_with(text)) == "unauthenticated"
    assert await desk.node.audit_holds()
