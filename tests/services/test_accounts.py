"""A disabled owner is no owner, and two who leave at once do not leave nobody."""

import asyncio
from collections.abc import Awaitable

import pytest

from teamvars.decisions.users import Disabling
from teamvars.domain.directory import TeamEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import Status
from tests.services.calls import Calls, caller, refusal_of
from tests.support.deployment import operator


async def test_the_only_other_owner_being_disabled_nobody_can_be_the_last(calls: Calls) -> None:
    """The tenant's `disabled` is an owner, and does not count beside `owner`."""
    owner = calls.named("owner")[0]
    assert await refusal_of(calls.change("remove", "owner", team="owners")) == "last_owner"
    leaving = caller(calls.tenant, "owner"), calls.tenant.memberships["owner"]
    assert await refusal_of(calls.services.memberships.remove(*leaving)) == "last_owner"
    assert await refusal_of(calls.apply(members={owner: Status.INVITED})) == "last_owner"
    disabled = calls.named("disabled")
    assert await refusal_of(calls.apply(TeamEntry("owners", members=disabled))) == "last_owner"
    asked = calls.services.accounts.disable(operator(), owner, Disabling())
    assert await refusal_of(asked) == "last_owner"
    await calls.services.accounts.enable(operator(), disabled[0])
    await calls.change("remove", "owner", team="owners")


async def test_a_disabled_owner_may_be_removed(calls: Calls) -> None:
    await calls.change("remove", "disabled", team="owners")
    leaving = caller(calls.tenant, "owner"), calls.tenant.memberships["disabled"]
    await calls.services.memberships.remove(*leaving)


@pytest.mark.parametrize("way", ["disable", "remove"])
async def test_of_two_owners_who_go_at_once_one_stays(
    both_nodes: tuple[Calls, Calls], way: str
) -> None:
    one, other = both_nodes
    await one.change("add", "plain", team="owners")
    for _ in range(4):
        users = one.tenant.users
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
            await one.services.accounts.enable(operator(), one.tenant.users[person])
        await one.change("add", "owner", team="owners", who="organization-token")


async def test_the_tokens_that_were_made_are_revoked_in_the_streams_of_their_owners(
    calls: Calls,
) -> None:
    made = await calls.tenant.call(
        "owner", "POST", f"/teams/{calls.tenant.teams['crew']}/authentication-token"
    )
    assert made.status_code == 201
    how = Disabling(force=True, with_made_tokens=True)
    done = await calls.services.accounts.disable(operator(), calls.tenant.users["owner"], how)
    assert [issued.title for issued in done.made] == [f"team {calls.tenant.organization}/crew"]
    text = made.json()["data"]["attributes"]["token"]
    assert await refusal_of(calls.list_with(text)) == "unauthenticated"
    assert await calls.node.audit_holds()
