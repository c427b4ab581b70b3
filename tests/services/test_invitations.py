"""Invitations by link: who gets what by one, how often, and how many there may be."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from email.message import EmailMessage
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from teamvars import wiring
from teamvars.decisions.invitations import Asked
from teamvars.decisions.users import Disabling
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditFilter
from teamvars.domain.directory import Directory, TeamEntry, UserEntry
from teamvars.domain.errors import DEAD_LINK, TRAIL_ALTERED, Refusal, forbidden, not_found
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import LIFETIME, Delivery
from teamvars.domain.memberships import InvitationDraft, Membership, Status
from teamvars.domain.tokens import NewToken, OwnerName
from teamvars.security.tokens import hash_token
from teamvars.services.directory_files.files import Options
from teamvars.services.invitations import Issued
from teamvars.storage import memberships, tables
from teamvars.storage.database import Transaction
from tests.services.calls import AS_WRITTEN, Calls, caller, caller_with, dump, refusal_of
from tests.storage.stores import fresh_sqlite
from tests.support.deployment import open_deployment, operator, secret_of
from tests.support.mailbox import Mailbox, open_mailbox, plain_text, secret_in
from tests.support.patience import until
from tests.support.tenant import Tenant, build_tenant


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with open_mailbox() as mailbox:
        yield mailbox


@pytest.fixture
async def mailing(tenant: Tenant, store_url: str, mailbox: Mailbox) -> AsyncIterator[Calls]:
    """A node that sends mail, when it is told to."""
    setup = wiring.Setup(mail_server=mailbox.server(insecure=True), invitations_a_day=7)
    async with open_deployment(store_url, keys=tenant.deployment.keys, setup=setup) as node:
        yield Calls(tenant, node)


def address(name: str = "carol") -> str:
    return f"{name}-{uuid4().hex}@example.com"


async def invite(calls: Calls, email: str, who: str = "owner") -> Membership:
    tenant = calls.tenant
    organization = tenant.organization if who == "owner" else tenant.other_organization
    page = await calls.services.invitations.invite(
        caller(tenant, who), organization, InvitationDraft(email)
    )
    return page.memberships[0]


async def delivered(calls: Calls, mailbox: Mailbox, email: str) -> EmailMessage:
    """The newest message to that address, once all that waits is sent."""
    while await calls.services.outbox.send_next():
        pass
    return next(one for one in reversed(mailbox.messages) if one["To"] == email)


async def link(calls: Calls, email: str, organization: str | None = None) -> tuple[Membership, str]:
    """An invitation, and the secret of its link as the one who was invited would have it."""
    asked = Asked(email, organization or calls.tenant.organization)
    issued = await calls.services.operator_invitations.create(operator(), asked, show=True)
    return issued.membership, secret_of(issued)


async def accept(calls: Calls, secret: str) -> NewToken:
    by = Caller(hash_token(secret), new_id("req"))
    return await calls.services.invitation_links.accept(by, secret)


async def refusal(calls: Calls, secret: str) -> tuple[str, ...]:
    """What the link is refused with, to show and to accept alike."""
    told = []
    for asked in (calls.services.invitation_links.show(secret), accept(calls, secret)):
        with pytest.raises(Refusal) as refused:
            await asked
        told.append(tuple(fault.detail for fault in refused.value.faults))
    assert told[0] == told[1]
    return told[0]


async def actions(calls: Calls, subject: str) -> list[str]:
    """What the trail says of a membership, oldest first."""
    wanted = AuditFilter(subject_ids=[subject])
    return [entry.action for entry in reversed(await calls.services.audit.newest(50, wanted))]


async def age(calls: Calls, membership: Membership) -> None:
    """Lets a week go by for an invitation."""
    await calls.node.execute(
        "UPDATE invitations SET expires_at = expires_at - $2 WHERE membership_id = $1",
        membership.id,
        LIFETIME,
    )


async def find(calls: Calls, membership_id: str) -> Membership | None:
    try:
        return await calls.services.database.read(lambda tx: memberships.get(tx, membership_id))
    except Refusal:
        return None


async def is_active(calls: Calls, membership: Membership) -> bool:
    found = await find(calls, membership.id)
    return found is not None and found.status is Status.ACTIVE


# From the message to the first token


async def test_a_new_colleague_comes_in_by_the_message_alone(
    mailing: Calls, mailbox: Mailbox
) -> None:
    email = address()
    made = await invite(mailing, email)
    assert made.invitation is not None
    assert made.invitation.delivery is Delivery.WAITING
    message, tenant = await delivered(mailing, mailbox, email), mailing.tenant
    (owner,) = mailing.named("owner")
    assert email in mailbox.recipients
    assert message["To"] == email
    assert message["Subject"] == f"Invitation to {tenant.organization}"
    sentence = f"{owner} invites you to the organization {tenant.organization}."
    assert plain_text(message).startswith(sentence)
    page = message.get_body(("html",))
    assert page is not None
    assert sentence in page.get_content()
    assert "<img" not in page.get_content()
    shown = await mailing.services.invitation_links.show(secret_in(message))
    assert (shown.organization, shown.inviter) == (tenant.organization, owner)
    assert (shown.address, shown.first_token) == (email, True)
    new = await accept(mailing, secret_in(message))
    assert new.token.expires_at is not None
    assert tenant.organization not in (new.token.description or "")
    assert await is_active(mailing, made)
    own = await mailing.services.memberships.read(caller_with(new.secret), made.id)
    assert own.memberships[0].user.id == new.token.owner_id
    assert await actions(mailing, made.id) == [
        "membership.create",
        "invitation.create",
        "invitation.send",
        "membership.update",
        "invitation.accept",
    ]
    assert await tenant.deployment.audit_holds()


async def test_the_address_is_told_in_the_stream_of_the_organization_alone(
    mailing: Calls, mailbox: Mailbox
) -> None:
    email = address()
    made = await invite(mailing, email)
    await accept(mailing, secret_in(await delivered(mailing, mailbox, email)))
    rows = (await dump(mailing.services.database))["audit_entries"]
    streams = {row[0] for row in rows if any(email in str(field) for field in row)}
    assert streams == {made.organization_id}


async def test_what_the_operator_does_to_the_invited_does_not_tell_their_address(
    calls: Calls,
) -> None:
    accounts, directory = calls.services.accounts, calls.services.directory
    emails = [address() for _ in range(3)]
    banned, renamed, robbed = [(await link(calls, email))[0].user for email in emails]
    await accounts.disable(operator(), banned.username, Disabling())
    await accounts.enable(operator(), banned.username)
    await accounts.rename(operator(), renamed.username, f"new-{renamed.username}")
    claim = Directory((UserEntry(calls.named("plain")[0], robbed.email),))
    await directory.apply(operator(), claim, AS_WRITTEN)
    wanted = AuditFilter(subject_ids=[banned.id, renamed.id, robbed.id])
    entries = await calls.services.audit.newest(20, wanted)
    assert len(entries) == 7  # three were created
    assert not any(email in entry.details for entry in entries for email in emails)


async def test_the_secret_is_sealed_while_it_waits_and_gone_once_it_is_sent(
    mailing: Calls, mailbox: Mailbox
) -> None:
    email = address()
    made = await invite(mailing, email)

    async def sealed() -> object:
        rows = (await dump(mailing.services.database))["invitations"]
        return next(row[5] for row in rows if row[0] == made.id)

    waiting = await sealed()
    secret = secret_in(await delivered(mailing, mailbox, email))
    assert isinstance(waiting, bytes)
    assert secret.encode() not in waiting
    assert await sealed() is None
    everything = str(await dump(mailing.services.database))
    assert secret not in everything


# Who gets nothing by a link


async def known_owner(calls: Calls) -> tuple[Membership, str]:
    """An owner of another organization."""
    user = await calls.services.accounts.show(calls.tenant.users["outsider"])
    assert user.user.email is not None
    return await link(calls, user.user.email)


async def site_admin(calls: Calls) -> tuple[Membership, str]:
    user = await calls.services.accounts.show(calls.tenant.users["admin"])
    assert user.user.email is not None
    return await link(calls, user.user.email)


async def disabled(calls: Calls) -> tuple[Membership, str]:
    """Somebody new whom the operator has disabled since."""
    made, secret = await link(calls, address())
    await calls.services.accounts.disable(operator(), made.user.id, Disabling())
    return made, secret


async def named_by_a_file(calls: Calls) -> tuple[Membership, str]:
    email = address()
    made, secret = await link(calls, email)
    directory = Directory((UserEntry(f"ceo-{uuid4().hex}", email),))
    await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
    return made, secret


async def whose_address_a_file_gave_away(calls: Calls) -> tuple[Membership, str]:
    email = address()
    made, secret = await link(calls, email)
    directory = Directory((UserEntry(calls.named("plain")[0], email),))
    await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
    return made, secret


async def who_had_a_token(calls: Calls) -> tuple[Membership, str]:
    made, secret = await link(calls, address())
    new = await calls.services.tokens.create(operator(), OwnerName(user=made.user.username), None)
    await calls.services.issued_tokens.revoke(operator(), new.token.id)
    return made, secret


async def who_came_in_elsewhere(calls: Calls) -> tuple[Membership, str]:
    email = address()
    made, secret = await link(calls, email)
    _, other = await link(calls, email, calls.tenant.other_organization)
    await accept(calls, other)
    return made, secret


async def to_whom_an_older_release_gave_a_token(calls: Calls) -> tuple[Membership, str]:
    """It leaves the flag as it was."""
    made, secret = await link(calls, address())
    await calls.services.tokens.create(operator(), OwnerName(user=made.user.username), None)
    await calls.node.execute("UPDATE users SET placeholder = 1 WHERE id = $1", made.user.id)
    return made, secret


async def whom_an_older_release_made_active_elsewhere(calls: Calls) -> tuple[Membership, str]:
    email = address()
    made, secret = await link(calls, email)
    other, _ = await link(calls, email, calls.tenant.other_organization)
    await calls.node.execute("UPDATE memberships SET status = 'active' WHERE id = $1", other.id)
    return made, secret


KNOWN = (
    known_owner,
    site_admin,
    disabled,
    named_by_a_file,
    whose_address_a_file_gave_away,
    who_had_a_token,
    who_came_in_elsewhere,
    to_whom_an_older_release_gave_a_token,
    whom_an_older_release_made_active_elsewhere,
)


@pytest.mark.parametrize("who", KNOWN, ids=lambda one: one.__name__)
async def test_who_is_known_gets_no_token_by_a_link_and_loses_nothing(
    calls: Calls, who: Callable[[Calls], Awaitable[tuple[Membership, str]]]
) -> None:
    made, secret = await who(calls)
    assert not (await calls.services.invitation_links.show(secret)).first_token
    before = await dump(calls.services.database)
    assert await refusal_of(accept(calls, secret)) == "forbidden"
    assert await dump(calls.services.database) == before
    assert not await is_active(calls, made)


async def test_who_is_known_accepts_with_a_token_of_their_own(calls: Calls) -> None:
    made, secret = await known_owner(calls)
    token = caller(calls.tenant, "outsider")
    await calls.services.invitations.accept(token, made.id)
    assert await is_active(calls, made)
    assert await refusal(calls, secret) == (DEAD_LINK.detail,)
    assert (await actions(calls, made.id))[-1] == "invitation.accept"


async def test_whom_a_stranger_invited_first_comes_in_where_they_want_and_only_there(
    mailing: Calls, mailbox: Mailbox
) -> None:
    email = address()
    strangers = await invite(mailing, email, "outsider")
    old = secret_in(await delivered(mailing, mailbox, email))
    await mailing.services.memberships.revoke(caller(mailing.tenant, "outsider"), strangers.id)
    made = await invite(mailing, email)
    assert await refusal(mailing, old) == (DEAD_LINK.detail,)
    new = await accept(mailing, secret_in(await delivered(mailing, mailbox, email)))
    assert new.token.owner_id == made.user.id == strangers.user.id
    assert await find(mailing, strangers.id) is None
    assert await actions(mailing, strangers.id) == [
        "membership.create",
        "invitation.create",
        "invitation.send",
        "invitation.revoke",
        "membership.delete",
    ]


# Links that open nothing any more


async def revoked(calls: Calls) -> str:
    made, secret = await link(calls, address())
    await calls.services.operator_invitations.revoke(operator(), made.id)
    return secret


async def expired(calls: Calls) -> str:
    made, secret = await link(calls, address())
    await age(calls, made)
    return secret


async def voided(calls: Calls) -> str:
    made, secret = await link(calls, address())
    await calls.services.operator_invitations.resend(operator(), made.id, show=True)
    return secret


async def removed(calls: Calls) -> str:
    made, secret = await link(calls, address())
    await calls.services.memberships.remove(caller(calls.tenant, "owner"), made.id)
    return secret


async def forwarded_after_its_use(calls: Calls) -> str:
    _, secret = await link(calls, address())
    await accept(calls, secret)
    return secret


async def of_an_organization_that_ended(calls: Calls) -> str:
    _, secret = await link(calls, address())
    place = caller(calls.tenant, "owner"), calls.tenant.organization
    await calls.services.organizations.delete(*place, force=True)
    return secret


async def made_active_by_a_file(calls: Calls) -> str:
    made, secret = await link(calls, address())
    await calls.apply(members={made.user.username: Status.ACTIVE})
    return secret


async def guessed(_: Calls) -> str:
    return "tvi_" + "0" * 49


async def another_thing(calls: Calls) -> str:
    return calls.tenant.tokens["owner"]


DEAD = (
    revoked,
    expired,
    voided,
    removed,
    forwarded_after_its_use,
    of_an_organization_that_ended,
    made_active_by_a_file,
    guessed,
    another_thing,
)


async def test_the_trail_says_that_a_file_ended_an_invitation(calls: Calls) -> None:
    joined, removed = [(await link(calls, address()))[0] for _ in range(2)]
    names = [*calls.named("owner", "disabled"), joined.user.username]
    await calls.apply(
        TeamEntry("owners", members=calls.named("owner", "disabled")),
        members=dict.fromkeys(names, Status.ACTIVE),
        options=Options(prune=True, delete_variables=True),
    )
    assert await is_active(calls, joined)
    assert await find(calls, removed.id) is None
    for made, end in ((joined, "membership.update"), (removed, "membership.delete")):
        assert (await actions(calls, made.id))[-2:] == ["invitation.revoke", end]
    assert await calls.tenant.deployment.audit_holds()


@pytest.mark.parametrize("way", DEAD, ids=lambda one: one.__name__)
async def test_a_link_that_opens_nothing_says_so_and_not_why(
    calls: Calls, way: Callable[[Calls], Awaitable[str]]
) -> None:
    secret = await way(calls)
    before = await dump(calls.services.database)
    assert await refusal(calls, secret) == (DEAD_LINK.detail,)
    assert await dump(calls.services.database) == before


async def test_who_accepts_twice_at_once_has_one_token(both_nodes: tuple[Calls, Calls]) -> None:
    one, other = both_nodes
    made, secret = await link(one, address())
    tried = await asyncio.gather(
        *(accept(calls, secret) for calls in (one, other) * 4), return_exceptions=True
    )
    assert [isinstance(result, NewToken) for result in tried].count(True) == 1
    assert all(isinstance(result, (NewToken, Refusal)) for result in tried)
    account = await one.services.accounts.show(made.user.id)
    assert len(account.tokens) == 1
    assert await one.tenant.deployment.audit_holds()


async def test_who_accepts_while_it_is_revoked_is_in_or_has_nothing(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    for _ in range(4):
        made, secret = await link(one, address())
        accepted, _ = await asyncio.gather(
            accept(one, secret),
            other.services.operator_invitations.revoke(operator(), made.id),
            return_exceptions=True,
        )
        assert isinstance(accepted, NewToken) is await is_active(one, made)
    assert await one.tenant.deployment.audit_holds()


# Owners


async def test_operators_resend_and_revoke_what_is_pending_and_nothing_else(calls: Calls) -> None:
    commands, accepted = calls.services.operator_invitations, calls.tenant.memberships["reader"]
    assert await refusal_of(commands.resend(operator(), accepted, show=True)) == "already_member"
    assert await refusal_of(commands.revoke(operator(), accepted)) == "already_member"


async def test_owners_resend_and_revoke_what_is_pending_and_nothing_else(calls: Calls) -> None:
    owner = caller(calls.tenant, "owner")
    active = calls.tenant.memberships["plain"]
    for ask in (calls.services.invitations.resend, calls.services.memberships.revoke):
        assert await refusal_of(ask(owner, active)) == "already_member"
        pending = await invite(calls, address(), "outsider")
        assert await refusal_of(ask(owner, pending.id)) == "not_found"
        assert await refusal_of(ask(caller(calls.tenant, "plain"), active)) == "forbidden"


async def missing(calls: Calls) -> list[Issued]:
    """The links that are made for those who wait without one."""
    made: list[Issued] = []
    invite = calls.services.operator_invitations.invite_missing
    await invite(operator(), calls.tenant.organization, made.append)
    return made


async def test_without_mail_nobody_has_a_link_until_the_operator_makes_one(calls: Calls) -> None:
    made, elsewhere = await invite(calls, address()), await invite_elsewhere(calls)
    assert made.invitation is not None
    assert made.invitation.delivery is Delivery.NONE
    issued = await missing(calls)
    mine = next(one for one in issued if one.membership.id == made.id)
    assert elsewhere not in {one.membership.id for one in issued}
    everybody = await calls.services.operator_invitations.pending()
    assert elsewhere in {one.id for one in everybody}
    await accept(calls, secret_of(mine))
    assert await missing(calls) == []


async def test_who_has_accepted_or_gone_meanwhile_keeps_nobody_from_their_link(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = calls.services.operator_invitations
    made = [(await invite(calls, address())).id for _ in range(3)]
    waiting = [one for one in await commands.pending() if one.id in made]
    shown = await commands.resend(operator(), made[0], show=True)
    await accept(calls, secret_of(shown))
    await commands.revoke(operator(), made[1])

    async def pending(*_: object) -> Sequence[Membership]:
        """As it was before."""
        return sorted(waiting, key=lambda one: made.index(one.id))

    monkeypatch.setattr(commands, "pending", pending)
    issued = await missing(calls)
    assert [one.membership.id for one in issued] == [made[2]]


async def invite_elsewhere(calls: Calls) -> str:
    """The id of a membership of the other organization that waits for its user."""
    outsider, organization = caller(calls.tenant, "outsider"), calls.tenant.other_organization
    draft = InvitationDraft(address())
    page = await calls.services.invitations.invite(outsider, organization, draft)
    return page.memberships[0].id


async def test_of_what_has_ended_otherwise_meanwhile_nothing_is_ended(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def expired(*_: object) -> list[str]:
        return [new_id("ou")]

    monkeypatch.setattr("teamvars.storage.invitations.expired", expired)
    await calls.services.operator_invitations.expire()


async def test_what_cannot_be_ended_is_not_taken_for_ended(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = await link(calls, address())
    await age(calls, made)

    async def refuse(*_: object) -> None:
        raise Refusal(TRAIL_ALTERED.filled({"stream": made.organization_id}))

    commands = calls.services.operator_invitations
    monkeypatch.setattr(commands, "_make", refuse)
    assert await refusal_of(commands.expire()) == "trail_altered"


@pytest.mark.parametrize(
    ("meanwhile", "code"),
    [(not_found(), DEAD_LINK.code.word), (forbidden("With a token of your own."), "forbidden")],
    ids=["the organization ends", "the user becomes known"],
)
async def test_what_becomes_of_an_invitation_after_the_look_is_told_as_before_it(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, meanwhile: Refusal, code: str
) -> None:
    _, secret = await link(calls, address())

    async def refuse(*_: object) -> None:
        raise meanwhile

    monkeypatch.setattr(calls.services.invitation_links, "_make", refuse)
    assert await refusal_of(accept(calls, secret)) == code


async def test_an_operator_is_shown_the_link_only_where_no_message_carries_it(
    mailing: Calls, mailbox: Mailbox
) -> None:
    commands, by_mail, shown = mailing.services.operator_invitations, address(), address()
    asked = Asked(by_mail, mailing.tenant.organization)
    sent = await commands.create(operator(), asked, show=False)
    assert sent.link is None
    issued = await commands.create(operator(), replace(asked, email=shown), show=True)
    assert issued.link is not None
    assert secret_in(await delivered(mailing, mailbox, by_mail))
    assert shown not in mailbox.recipients
    again = await commands.resend(operator(), sent.membership.id, show=False)
    assert again.link is None


# Bounds


async def test_an_organization_has_so_many_a_day_and_those_sent_again_count(
    mailing: Calls,
) -> None:
    first = await invite(mailing, address())
    for _ in range(5):
        await invite(mailing, address())
    owner = caller(mailing.tenant, "owner")
    await mailing.services.invitations.resend(owner, first.id)
    assert await refusal_of(invite(mailing, address())) == "too_many_items"
    assert await refusal_of(mailing.services.invitations.resend(owner, first.id)) == (
        "too_many_items"
    )
    await mailing.services.memberships.revoke(owner, first.id)
    assert await refusal_of(invite(mailing, address())) == "too_many_items"
    await invite(mailing, address(), "outsider")
    await link(mailing, address())  # the operator's own


async def test_an_address_has_five_a_day_whoever_invites_it(mailing: Calls) -> None:
    email = address()
    for who in ("owner", "outsider") * 2:
        made = await invite(mailing, email, who)
        await mailing.services.memberships.revoke(caller(mailing.tenant, who), made.id)
    await invite(mailing, email.upper())
    assert await refusal_of(invite(mailing, email, "outsider")) == "too_many_items"
    await mailing.node.execute("UPDATE invitation_requests SET at = at - $1", 24 * 3_600_000_000)
    await invite(mailing, email, "outsider")


async def test_one_mailbox_is_one_address_however_its_domain_is_written(mailing: Calls) -> None:
    name = f"carol-{uuid4().hex}"
    for domain in ("bücher.example", "BÜCHER.example", "xn--bcher-kva.example"):
        await invite(mailing, f"{name}@{domain}")
    for domain in ("bücher.example", "BÜCHER.example"):
        await invite(mailing, f"{name}@{domain}", "outsider")
    third = invite(mailing, f"{name}@xn--bcher-kva.example", "outsider")
    assert await refusal_of(third) == "too_many_items"


async def test_two_who_race_for_the_last_invitation_of_a_day_do_not_both_get_it(
    mailing: Calls,
) -> None:
    email = address()
    for _ in range(2):
        for who in ("owner", "outsider"):
            made = await invite(mailing, email, who)
            await mailing.services.memberships.revoke(caller(mailing.tenant, who), made.id)
    tried = await asyncio.gather(
        invite(mailing, email), invite(mailing, email, "outsider"), return_exceptions=True
    )
    assert [isinstance(one, Membership) for one in tried].count(True) == 1


@pytest.mark.parametrize("stored", ["'2030-01-01'", "x'ff'"])
async def test_a_time_in_words_counts_for_nothing_and_stops_no_chore(
    tmp_path: Path, stored: str
) -> None:
    """PostgreSQL has no words there."""
    async with open_deployment(fresh_sqlite(tmp_path)) as deployment:
        calls = Calls(await build_tenant(deployment))
        _, secret = await link(calls, address())
        await deployment.alter(f"UPDATE invitation_requests SET at = {stored}")  # noqa: S608
        await calls.services.operator_invitations.expire()
        await deployment.alter(f"UPDATE invitations SET expires_at = {stored}")  # noqa: S608
        assert await refusal(calls, secret) == (DEAD_LINK.detail,)


# Expiry


async def test_what_has_expired_goes_with_the_user_it_made_who_never_signed_in(
    own_calls: Calls,
) -> None:
    services = own_calls.services
    made, _ = await link(own_calls, address())
    (known, _), (fresh, _) = await known_owner(own_calls), await link(own_calls, address())
    for one in (made, known):
        await age(own_calls, one)
    await own_calls.node.execute("UPDATE invitation_requests SET at = 0")
    await a_week_goes_by_for_users(own_calls)
    await services.operator_invitations.expire()
    assert await find(own_calls, made.id) is await find(own_calls, known.id) is None
    assert await find(own_calls, fresh.id) is not None
    left = {user.id for user in await services.accounts.list()}
    assert made.user.id not in left
    assert {known.user.id, fresh.user.id} <= left
    (entry,) = await services.audit.newest(5, AuditFilter(action="user.delete"))
    assert (entry.subject_id, entry.actor_kind) == (made.user.id, "service")
    assert await actions(own_calls, made.id) == [
        "membership.create",
        "invitation.create",
        "invitation.expire",
        "membership.delete",
    ]
    assert (await dump(services.database))["invitation_requests"] == []
    await services.operator_invitations.expire()
    assert await own_calls.tenant.deployment.audit_holds()


async def test_housekeeping_ends_what_has_expired(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "HOUSEKEEPING_SECONDS", 0.02)
    made, _ = await link(calls, address())
    await age(calls, made)
    house = asyncio.create_task(wiring._keep_house(calls.services))

    async def is_gone() -> bool:
        return await find(calls, made.id) is None

    await until(is_gone)
    house.cancel()


async def a_week_goes_by_for_users(calls: Calls) -> None:
    """Lets a week go by for all users whom invitations made."""
    before = "UPDATE users SET created_at = created_at - $1 WHERE placeholder = 1"
    await calls.node.execute(before, LIFETIME + 1)


async def test_who_was_disabled_is_so_when_they_are_invited_again(own_calls: Calls) -> None:
    made, secret = await disabled(own_calls)
    email = made.user.email or ""
    await own_calls.services.operator_invitations.revoke(operator(), made.id)
    await a_week_goes_by_for_users(own_calls)
    await own_calls.services.operator_invitations.expire()
    again, secret = await link(own_calls, email)
    assert again.user.id == made.user.id
    assert await refusal_of(accept(own_calls, secret)) == "forbidden"


async def test_who_has_a_token_of_an_older_release_keeps_it(own_calls: Calls) -> None:
    made, _ = await to_whom_an_older_release_gave_a_token(own_calls)
    await own_calls.services.operator_invitations.revoke(operator(), made.id)
    await a_week_goes_by_for_users(own_calls)
    await own_calls.services.operator_invitations.expire()
    assert len((await own_calls.services.accounts.show(made.user.id)).tokens) == 1


async def test_who_made_a_team_s_token_with_one_of_an_older_release_that_is_gone_stays(
    own_calls: Calls,
) -> None:
    made, _ = await to_whom_an_older_release_gave_a_token(own_calls)
    of_team = "UPDATE tokens SET created_by = $1 WHERE team_id IS NOT NULL"
    for statement in (of_team, "DELETE FROM tokens WHERE user_id = $1"):
        await own_calls.node.execute(statement, made.user.id)
    await own_calls.services.operator_invitations.revoke(operator(), made.id)
    await a_week_goes_by_for_users(own_calls)
    await own_calls.services.operator_invitations.expire()
    assert (await own_calls.services.accounts.show(made.user.id)).made


@pytest.mark.parametrize("own_url", ["postgres"], indirect=True)
async def test_whom_a_file_names_meanwhile_stays(own_calls: Calls) -> None:
    """The file is applied while they are looked for, and is done before they are removed. SQLite
    has one writer at a time.
    """
    calls = own_calls
    made, _ = await link(calls, address())
    await calls.services.operator_invitations.revoke(operator(), made.id)
    await a_week_goes_by_for_users(calls)
    inserted = asyncio.Event()

    async def name_them(tx: Transaction) -> None:
        await tx.write_each(tables.inserting(made, 1).part)
        inserted.set()
        await asyncio.sleep(0.5)

    naming = asyncio.create_task(calls.services.database.write(name_them))
    await inserted.wait()
    await calls.services.operator_invitations.expire()
    await naming
    assert await find(calls, made.id) is not None


async def test_what_has_expired_is_accepted_with_no_token_either(calls: Calls) -> None:
    made, _ = await known_owner(calls)
    await age(calls, made)
    asked = calls.services.invitations.accept(caller(calls.tenant, "outsider"), made.id)
    assert await refusal_of(asked) == "not_found"


async def test_whom_an_older_node_let_in_stays_in(calls: Calls) -> None:
    """It knows nothing of the row, and leaves it."""
    made, secret = await link(calls, address())
    await calls.node.execute("UPDATE memberships SET status = 'active' WHERE id = $1", made.id)
    await age(calls, made)
    await calls.services.operator_invitations.expire()
    found = await find(calls, made.id)
    assert found is not None
    assert (found.status, found.invitation) == (Status.ACTIVE, None)
    assert await refusal(calls, secret) == (DEAD_LINK.detail,)
    rows = (await dump(calls.services.database))["invitations"]
    assert made.id not in {row[0] for row in rows}  # a hundred of them would stop the clearing up


async def test_two_nodes_that_clear_up_at_once_do_it_once(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    made, _ = await link(one, address())
    await age(one, made)
    await asyncio.gather(*(node.services.operator_invitations.expire() for node in (one, other)))
    assert (await actions(one, made.id)).count("invitation.expire") == 1
