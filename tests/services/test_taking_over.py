"""Users whom an invitation made: the operator's file takes them over, but nobody who is known."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pytest

from teamvars.decisions.memberships import MembershipPage
from teamvars.domain.audit import SYSTEM_STREAM, AuditFilter, Stream
from teamvars.domain.directory import Directory, UserEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import InvitationDraft, MembershipFilter, Status
from teamvars.domain.tokens import OwnerName
from teamvars.domain.users import User
from teamvars.services.directory_files.files import Options
from teamvars.storage import memberships, streams, users
from teamvars.storage.database import Transaction
from teamvars.storage.memberships import Within
from tests.services.calls import AS_WRITTEN, Calls, caller, caller_with, dump
from tests.support.deployment import operator
from tests.support.engines import ON_POSTGRES

INVITED, ACTIVE = Status.INVITED, Status.ACTIVE


def address(name: str = "ceo") -> str:
    """An e-mail address that nobody has."""
    return f"{name}-{uuid4().hex}@example.com"


async def invite(calls: Calls, email: str, who: str = "owner") -> MembershipPage:
    organization = calls.tenant.organization if who == "owner" else calls.tenant.other_organization
    place = caller(calls.tenant, who), organization
    return await calls.services.invitations.invite(*place, InvitationDraft(email))


async def apply(calls: Calls, *entries: UserEntry, **options: bool) -> tuple[str, ...]:
    directory = Directory(entries)
    applied = await calls.services.directory.apply(operator(), directory, Options(**options))
    return applied.changes


async def user(calls: Calls, id_: str) -> User:
    found = await calls.services.database.read(lambda tx: users.find(tx, id_))
    assert found is not None
    return found


async def invitations(calls: Calls, user_id: str) -> list[str]:
    async def body(tx: Transaction) -> list[str]:
        within, everything = Within(user_id=user_id), MembershipFilter()
        found = await memberships.search(tx, within, everything, None)
        return [one.id for one in found.items if one.status is INVITED]

    return await calls.services.database.read(body)


async def test_who_was_only_invited_becomes_the_files_user_and_keeps_id_and_invitations(
    calls: Calls,
) -> None:
    email, username = address(), f"ceo-{uuid4().hex}"
    first, second = await invite(calls, email), await invite(calls, email.upper(), "outsider")
    (one,), (two,) = first.memberships, second.memberships
    entry = UserEntry(username, email.title(), site_admin=True)
    told = await apply(calls, entry, dry_run=True)
    assert await apply(calls, entry) == told == (f"take over invited user {email} as {username}",)
    assert await user(calls, one.user.id) == User(one.user.id, username, email.title(), True)
    assert sorted(await invitations(calls, one.user.id)) == sorted([one.id, two.id])
    assert await apply(calls, entry) == ()
    wanted = AuditFilter(action="user.claim", subject_ids=[one.user.id])
    (entered,) = await calls.services.audit.newest(2, wanted)
    assert f'"from":"{email}"' in entered.details
    assert await calls.tenant.deployment.audit_holds()


async def test_where_one_has_the_name_and_another_the_address_the_address_counts(
    calls: Calls,
) -> None:
    name, email = address("name"), address("mail")
    (holder_of_name,) = (await invite(calls, name)).memberships
    (holder,) = (await invite(calls, email)).memberships
    await apply(calls, UserEntry(name, email))
    assert (await user(calls, holder.user.id)).username == name
    other = await user(calls, holder_of_name.user.id)
    assert (other.email, other.placeholder) == (name, True)
    assert other.username.startswith(f"{name}-")
    assert await apply(calls, UserEntry(name, email)) == ()
    await apply(calls, UserEntry(f"late-{uuid4().hex}", name))
    assert not (await user(calls, other.id)).placeholder
    assert await calls.tenant.deployment.audit_holds()


async def test_a_known_user_gets_the_address_of_one_who_was_only_invited(calls: Calls) -> None:
    (plain,), email = calls.named("plain"), address()
    (holder,) = (await invite(calls, email)).memberships
    changes = await apply(calls, UserEntry(plain, email))
    assert changes[0] == f"take the e-mail address from invited user {email}"
    assert (await user(calls, calls.tenant.users["plain"])).email == email
    left = await user(calls, holder.user.id)
    assert (left.email, left.placeholder) == (None, True)
    assert await invitations(calls, left.id) == [holder.id]
    assert await apply(calls, UserEntry(plain, email)) == ()


@pytest.mark.parametrize("way", ["a token", "a revoked token", "accepted", "made active", "named"])
async def test_nobody_who_is_known_is_taken_over(calls: Calls, way: str) -> None:
    email = address()
    (holder,) = (await invite(calls, email)).memberships
    if way == "named":
        await apply(calls, UserEntry(email))
    elif way == "made active":
        await calls.apply(members={email: ACTIVE})
        await calls.apply(members={email: INVITED})
    else:
        made = await calls.services.tokens.create(operator(), OwnerName(user=email), None)
        if way == "accepted":
            await calls.services.invitations.accept(caller_with(made.secret), holder.id)
        if way != "a token":
            await calls.services.issued_tokens.revoke(operator(), made.token.id)
        if way == "accepted":
            await calls.services.memberships.remove(caller(calls.tenant, "owner"), holder.id)
    before = await dump(calls.services.database)
    entries = [UserEntry(f"{n}-{uuid4().hex}", email, at=f"file:{n}") for n in "12"]
    with pytest.raises(Refusal) as refusal:
        await apply(calls, *entries)
    told = [fault.detail for fault in refusal.value.faults]
    assert [one[:7] for one in told] == ["file:1:", "file:2:"]
    assert all(f"that of user {email}, " in one for one in told)
    assert await dump(calls.services.database) == before


@ON_POSTGRES
async def test_nobody_who_is_known_by_the_time_that_the_file_locks_them_is_taken_over(
    both_nodes: tuple[Calls, Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = both_nodes
    email = address()
    (holder,) = (await invite(one, email)).memberships
    lock = streams.lock

    async def once_they_have_a_token(tx: Transaction, ids: Any) -> Mapping[str, Stream]:
        if ids == {SYSTEM_STREAM}:
            monkeypatch.setattr(streams, "lock", lock)
            await other.services.tokens.create(operator(), OwnerName(user=email), None)
        return await lock(tx, ids)

    # That of the system comes before the rows of users: who makes a token locks it as well.
    monkeypatch.setattr(streams, "lock", once_they_have_a_token)
    with pytest.raises(Refusal) as refusal:
        await apply(one, UserEntry(f"kim-{uuid4().hex}", email, at="file:1"))
    assert f"that of user {email}, " in refusal.value.faults[0].detail
    assert (await user(one, holder.user.id)).username == email


async def test_invitations_that_race_with_the_file_end_as_invitations_of_its_users(
    calls: Calls,
) -> None:
    emails = [address() for _ in range(12)]
    entries = [UserEntry(f"user-{email.partition('@')[0]}", email) for email in emails]
    directory = Directory(tuple(entries))
    pages = await asyncio.gather(
        *(invite(calls, email) for email in emails[:6]),
        calls.services.directory.apply(operator(), directory, AS_WRITTEN),
        *(invite(calls, email) for email in emails[6:]),
    )
    applied = await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
    assert applied.changes == ()
    invited = [page.memberships[0].user.id for page in pages if isinstance(page, MembershipPage)]
    assert sorted(invited) == sorted(applied.users.values())
    assert await calls.tenant.deployment.audit_holds()
