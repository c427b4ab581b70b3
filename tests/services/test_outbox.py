"""Messages of invitations: sent at least once, whatever the mail server and other nodes do."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from teamvars import mail, wiring
from teamvars.decisions.users import Disabling
from teamvars.domain.audit import AuditFilter
from teamvars.domain.directory import TeamEntry
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.domain.invitations import Delivery, Letter
from teamvars.domain.memberships import InvitationDraft, Membership, Status
from teamvars.domain.notices import GIVEN_UP_AFTER, STALE_AFTER, Memo
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.times import LATEST
from teamvars.mail import Mailer, NotSent, Server
from teamvars.security.certificates import throw_away
from teamvars.services import outbox
from teamvars.services.outbox import Outbox
from teamvars.storage import memberships, tables
from teamvars.storage.database import Body, Database, T, Transaction
from tests.faults.canaries import finds
from tests.services.altered_trails import Place
from tests.services.calls import Calls, caller, dump
from tests.services.jobs import Job, approve, propose
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.jobs import ISSUERS
from tests.support.mailbox import (
    PASSWORD,
    PUBLIC_URL,
    SENDER,
    USER,
    Mailbox,
    authenticate,
    open_mailbox,
    secret_in,
)
from tests.support.patience import HANGS, until
from tests.support.server import free_port
from tests.support.tenant import Tenant, build_tenant

FORCED = Disabling(force=True)


@asynccontextmanager
async def node(calls: Calls, server: Server) -> AsyncIterator[Calls]:
    """A node on the store of the test that sends mail by that server."""
    setup, tenant = wiring.Setup(mail_server=server, issuers=ISSUERS), calls.tenant
    url, keys = tenant.deployment.config.url, tenant.deployment.keys
    async with open_deployment(url, keys=keys, setup=setup) as other:
        yield Calls(tenant, other)


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with open_mailbox() as mailbox:
        yield mailbox


@pytest.fixture
async def calls(tenant: Tenant) -> Calls:
    """A store in which nothing waits that others have left."""
    calls = Calls(tenant)
    await calls.node.execute(
        "UPDATE invitations SET delivery = 'failed', sealed_secret = NULL, due_at = NULL "
        "WHERE due_at IS NOT NULL",
    )
    await calls.node.execute("DELETE FROM memos")
    return calls


@pytest.fixture
async def mailing(calls: Calls, mailbox: Mailbox) -> AsyncIterator[Calls]:
    async with node(calls, mailbox.server(insecure=True)) as mailing:
        yield mailing


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is counted of each try to send a message."""
    counted: list[str] = []
    monkeypatch.setattr(outbox.MESSAGES, "add", counted.append)
    return counted


async def invite(
    calls: Calls, email: str | None = None, team_ids: Sequence[str] = ()
) -> Membership:
    draft = InvitationDraft(email or f"{uuid4().hex}@example.com", team_ids)
    place = caller(calls.tenant, "owner"), calls.tenant.organization
    return (await calls.services.invitations.invite(*place, draft)).memberships[0]


async def delivery(calls: Calls, made: Membership) -> Delivery | None:
    try:
        found = await calls.services.database.read(lambda tx: memberships.get(tx, made.id))
    except Refusal:
        return None
    return None if found.invitation is None else found.invitation.delivery


async def wait_over(calls: Calls) -> None:
    """Lets the time go by until what waits is due."""
    await calls.node.execute("UPDATE invitations SET due_at = 1 WHERE due_at IS NOT NULL")


async def recorded(calls: Calls, made: Membership, action: str) -> list[str]:
    """The details of the entries with that action in the organization of an invitation."""
    wanted = AuditFilter(stream_id=made.organization_id, action=action)
    return [entry.details for entry in await calls.services.audit.newest(50, wanted)]


async def row_of(calls: Calls, made: Membership) -> tuple[Any, ...]:
    """The row of an invitation."""
    rows = (await dump(calls.services.database))["invitations"]
    return next(row for row in rows if row[0] == made.id)


# What the server says


@pytest.mark.parametrize("moment", ["RCPT", "DATA"])
async def test_who_is_not_there_just_now_is_tried_again(
    mailing: Calls, mailbox: Mailbox, moment: str
) -> None:
    made = await invite(mailing)
    mailbox.says[moment] = "451 come back later"
    await until(mailing.services.outbox.send_next)
    assert not await mailing.services.outbox.send_next()  # before its time
    assert await delivery(mailing, made) is Delivery.WAITING
    mailbox.says.clear()
    await wait_over(mailing)
    await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.SENT
    assert len(mailbox.messages) == 1


@pytest.mark.parametrize("moment", ["RCPT", "DATA"])
async def test_an_address_that_is_refused_for_good_is_given_up_and_recorded(
    mailing: Calls, mailbox: Mailbox, moment: str
) -> None:
    made = await invite(mailing)
    mailbox.says[moment] = "550 nobody of that name: secret hint"
    await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.FAILED
    (details,) = await recorded(mailing, made, "invitation.fail")
    assert details == f'{{"reply":550,"user":"{made.user.id}"}}'
    assert (await row_of(mailing, made))[5] is None
    mailbox.says.clear()
    await mailing.services.invitations.resend(caller(mailing.tenant, "owner"), made.id)
    await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.SENT


async def test_a_server_that_is_away_is_asked_again_and_more_and_more_rarely(
    calls: Calls, mailbox: Mailbox
) -> None:
    made = await invite(calls)
    away = Server(f"smtp://127.0.0.1:{free_port()}", SENDER, PUBLIC_URL, insecure=True)
    waits = []
    async with node(calls, away) as mailing:
        made = (
            await mailing.services.invitations.resend(caller(calls.tenant, "owner"), made.id)
        ).memberships[0]
        for _ in range(7):
            await wait_over(mailing)
            await until(mailing.services.outbox.send_next)
            row = await row_of(mailing, made)
            waits.append(round((row[7] - wiring.clock()) / 60_000_000))
    assert waits == [1, 5, 15, 60, 240, 240, 240]
    async with node(calls, mailbox.server(insecure=True)) as mailing:
        await wait_over(mailing)
        await until(mailing.services.outbox.send_next)
        assert await delivery(mailing, made) is Delivery.SENT


async def test_a_server_that_takes_for_ever_is_given_up_for_now(
    mailing: Calls, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "SEND_SECONDS", 0.3)
    mailbox.silence = 2 * HANGS
    made = await invite(mailing)
    async with asyncio.timeout(HANGS):
        await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.WAITING


@pytest.mark.parametrize("answer", ["250 OK", "550 nobody of that name"])
async def test_a_server_that_does_not_say_goodbye_has_said_enough(
    mailing: Calls, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Else whoever is invited would have the same message again and again for a week."""
    monkeypatch.setattr(mail, "QUIT_SECONDS", 0.1)
    mailbox.parting = 2 * HANGS
    mailbox.says["RCPT"] = answer
    if answer.startswith("250"):
        mailbox.says.clear()
    made = await invite(mailing)
    async with asyncio.timeout(HANGS):
        await until(mailing.services.outbox.send_next)
    went = Delivery.FAILED if mailbox.says else Delivery.SENT
    assert await delivery(mailing, made) is went


@pytest.mark.parametrize(
    "email", ["a,b@example.com", '"a"@example.com', "a>b@example.com", "a@[192.0.2.1]", "a@-ü..de"]
)
async def test_an_address_that_no_mail_can_go_to_is_given_up(
    mailing: Calls, mailbox: Mailbox, email: str
) -> None:
    made = await invite(mailing, email)
    await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.FAILED
    assert mailbox.messages == []


async def test_who_has_no_address_any_more_is_given_up(mailing: Calls, mailbox: Mailbox) -> None:
    """A file invited them, and another gave their address away before the message went."""
    made, other = await invite(mailing), await invite(mailing)
    await mailing.node.execute("UPDATE memberships SET invited_as = NULL WHERE id = $1", made.id)
    await mailing.node.execute("UPDATE users SET email = NULL WHERE id = $1", made.user.id)
    while await mailing.services.outbox.send_next():
        pass
    assert await delivery(mailing, made) is Delivery.FAILED
    assert await delivery(mailing, other) is Delivery.SENT


async def test_addresses_of_every_script_are_reached(mailing: Calls, mailbox: Mailbox) -> None:
    for email, reached, extended in (
        ("jörg@example.com", "jörg@example.com", True),
        ("info@bücher.example", "info@xn--bcher-kva.example", False),
    ):
        await invite(mailing, email)
        await until(mailing.services.outbox.send_next)
        assert mailbox.recipients[-1] == reached
        assert ("SMTPUTF8" in mailbox.options[-1]) is extended


# Other nodes, and changes meanwhile


async def test_two_nodes_send_a_message_once(
    calls: Calls, mailing: Calls, mailbox: Mailbox
) -> None:
    mailbox.silence = 0.05
    async with node(calls, mailbox.server(insecure=True)) as other:
        made = [await invite(mailing) for _ in range(6)]
        sent = [True]
        while any(sent):
            sent = await asyncio.gather(
                *(one.services.outbox.send_next() for one in (mailing, other) * 2)
            )
    assert len(mailbox.messages) == len(set(mailbox.recipients)) == 6
    assert len(await recorded(mailing, made[0], "invitation.send")) == 6
    assert await mailing.node.audit_holds()


async def test_what_is_revoked_or_renewed_while_it_is_sent_stays_so(
    mailing: Calls, mailbox: Mailbox
) -> None:
    owner = caller(mailing.tenant, "owner")
    revoked = await invite(mailing)
    with mailbox.held():
        sending = asyncio.create_task(until(mailing.services.outbox.send_next))
        await mailbox.met.acquire()
        await mailing.services.memberships.revoke(owner, revoked.id)
    await sending
    assert await delivery(mailing, revoked) is None
    renewed = await invite(mailing)
    with mailbox.held():
        sending = asyncio.create_task(until(mailing.services.outbox.send_next))
        await mailbox.met.acquire()
        await mailing.services.invitations.resend(owner, renewed.id)
    await sending
    assert await delivery(mailing, renewed) is Delivery.WAITING
    await until(mailing.services.outbox.send_next)
    assert secret_in(mailbox.messages[1]) != secret_in(mailbox.messages[2])
    assert await mailing.node.audit_holds()


async def test_an_organization_may_end_while_its_message_is_sent(
    mailing: Calls, mailbox: Mailbox
) -> None:
    made = await invite(mailing)
    place = f"/organizations/{mailing.tenant.organization}"
    with mailbox.held():
        sending = asyncio.create_task(until(mailing.services.outbox.send_next))
        await mailbox.met.acquire()
        assert (await mailing.tenant.call("owner", "DELETE", place)).status_code == 204
    await sending
    assert await delivery(mailing, made) is None
    assert len(mailbox.messages) == 1
    assert await mailing.node.audit_holds()


async def test_what_cannot_be_settled_is_said(mailing: Calls, mailbox: Mailbox) -> None:
    made = await invite(mailing)
    database, stream = mailing.services.database, made.organization_id
    place = await Place.of(database, stream)
    with mailbox.held():
        sending = asyncio.create_task(until(mailing.services.outbox.send_next))
        await mailbox.met.acquire()
        await mailing.node.execute("UPDATE streams SET head = link WHERE id = $1", stream)
    with pytest.raises(Refusal) as refused:
        await sending
    assert refused.value.faults[0].code.word == "trail_altered"
    assert await delivery(mailing, made) is Delivery.WAITING
    await place.put_back(database, stream)
    assert await mailing.node.audit_holds()


async def test_a_message_whose_seal_is_broken_is_given_up(mailing: Calls, mailbox: Mailbox) -> None:
    one, other = await invite(mailing), await invite(mailing)
    swap = (
        "UPDATE invitations SET sealed_secret = (SELECT i.sealed_secret FROM invitations i "
        "WHERE i.membership_id = $1) WHERE membership_id = $2"
    )
    await mailing.node.execute(swap, one.id, other.id)
    while await mailing.services.outbox.send_next():
        pass
    assert await delivery(mailing, one) is Delivery.SENT
    assert await delivery(mailing, other) is Delivery.FAILED
    assert len(mailbox.messages) == 1


async def test_a_message_whose_data_key_is_gone_is_given_up(
    mailing: Calls, mailbox: Mailbox
) -> None:
    made = await invite(mailing)
    gone = "DELETE FROM data_keys WHERE organization_id = $1"
    await mailing.node.execute(gone, made.organization_id)
    await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.FAILED
    assert mailbox.messages == []


async def test_a_message_goes_out_at_once_and_those_of_other_processes_soon(
    calls: Calls, mailing: Calls, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "POLL_SECONDS", 3600)
    running = asyncio.create_task(mailing.services.outbox.run())
    await asyncio.sleep(0.1)  # it has looked, and waits
    await invite(mailing)
    await mailbox.next()
    running.cancel()
    monkeypatch.setattr(outbox, "POLL_SECONDS", 0.05)
    running = asyncio.create_task(mailing.services.outbox.run())
    async with node(calls, mailbox.server(insecure=True)) as other:
        await invite(other)
    await mailbox.next(2)
    running.cancel()


async def test_of_an_outage_it_says_nothing_more(
    mailing: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([storage_unavailable(), ValueError()])

    async def fail(_: Outbox) -> bool:
        for failure in failures:
            raise failure
        await asyncio.Event().wait()
        return False

    monkeypatch.setattr(outbox, "POLL_SECONDS", 0)
    monkeypatch.setattr(Outbox, "send_next", fail)
    with capture_logs() as lines:
        running = asyncio.create_task(mailing.services.outbox.run())
        async with asyncio.timeout(HANGS):
            while not lines:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0)
        running.cancel()
    assert [line["event"] for line in lines] == ["sending mail is put off"]
    assert list(failures) == [], "it was told of the last one"


async def test_it_ends_also_where_a_cancellation_is_lost(
    mailing: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = asyncio.Event()

    async def send(_: Mailer, __: Letter) -> None:
        sending.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise NotSent("it was not heard") from None

    monkeypatch.setattr(Mailer, "send", send)
    made = await invite(mailing)
    running = asyncio.create_task(mailing.services.outbox.run())
    await sending.wait()
    running.cancel()
    done, _ = await asyncio.wait([running], timeout=HANGS)
    assert done
    assert await delivery(mailing, made) is Delivery.WAITING


# TLS


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_mail_and_password_go_to_a_server_with_a_good_certificate_alone(
    calls: Calls, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = throw_away()
    for name in ("authority", "certificate", "key"):
        (tmp_path / name).write_bytes(getattr(made, name))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    tls = {"tls": context} if scheme == "smtps" else {"tls_context": context}
    options = {"authenticator": authenticate, "auth_required": True, **tls}
    if scheme == "smtps":
        options["auth_require_tls"] = False  # it does not see that there is TLS around it
    async with open_mailbox(**options) as mailbox:
        password = PASSWORD.replace("@", "%40").replace("/", "%2F")
        url = f"{scheme}://{USER}:{password}@localhost:{mailbox.port}"
        async with node(calls, Server(url, SENDER, PUBLIC_URL)) as mailing:
            invited = await invite(mailing)
            await until(mailing.services.outbox.send_next)
            assert mailbox.messages == []  # nobody vouches for the certificate
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority"))
            await wait_over(mailing)
            await until(mailing.services.outbox.send_next)
            assert await delivery(mailing, invited) is Delivery.SENT


async def test_a_server_without_tls_gets_nothing(calls: Calls, mailbox: Mailbox) -> None:
    async with node(calls, mailbox.server()) as mailing:
        made = await invite(mailing)
        await until(mailing.services.outbox.send_next)
        assert await delivery(mailing, made) is Delivery.WAITING
        assert mailbox.messages == []


# Secrets


async def test_no_secret_and_no_address_is_in_a_log(
    calls: Calls, mailbox: Mailbox, capfd: pytest.CaptureFixture[str]
) -> None:
    email, password = f"{uuid4().hex}@example.com", uuid4().hex
    url = f"smtp://user:{password}@127.0.0.1:{mailbox.port}"
    server = Server(url, SENDER, PUBLIC_URL, insecure=True)
    async with node(calls, server) as mailing:
        await invite(mailing, email)
        for says in ({"RCPT": f"450 {email} is away"}, {"RCPT": f"550 {email} is nobody"}, {}):
            mailbox.says = says
            await wait_over(mailing)
            await mailing.services.outbox.send_next()
    told = "".join(capfd.readouterr())
    assert "was not sent" in told
    assert not finds(f"{told}{server!r}".encode(), email, password)


async def test_what_waits_for_an_altered_trail_keeps_no_message_of_another_organization(
    mailing: Calls, mailbox: Mailbox
) -> None:
    made = [await invite(mailing), await invite(mailing)]
    other = Calls(await build_tenant(mailing.node), mailing.node)
    await invite(other)
    database, stream = mailing.services.database, made[0].organization_id
    place = await Place.of(database, stream)
    await invite(mailing)
    whole = await Place.of(database, stream)
    await place.put_back(database, stream)  # with a head of its own, and an entry above
    await wait_over(mailing)
    await until(mailing.services.outbox.send_next)
    assert not await mailing.services.outbox.send_next()
    assert len(mailbox.messages) == 1
    assert await delivery(mailing, made[0]) is Delivery.WAITING
    await whole.put_back(database, stream)


async def test_a_message_waits_while_the_trail_of_its_organization_does_not_hold(
    mailing: Calls, mailbox: Mailbox
) -> None:
    made = await invite(mailing)
    database, stream = mailing.services.database, made.organization_id
    place = await Place.of(database, stream)
    await mailing.node.execute("UPDATE streams SET head = link WHERE id = $1", stream)
    assert not await mailing.services.outbox.send_next()
    assert mailbox.messages == []
    assert await delivery(mailing, made) is Delivery.WAITING
    await place.put_back(database, stream)
    await mailing.node.execute("UPDATE invitations SET due_at = 0 WHERE due_at IS NOT NULL")
    await until(mailing.services.outbox.send_next)
    assert await delivery(mailing, made) is Delivery.SENT


# What owners are told of runners


async def propose_one(calls: Calls) -> str:
    """A runner that the owner proposes; nothing else waits to be told."""
    await calls.node.execute("DELETE FROM memos")
    return await propose(calls.tenant)


async def test_owners_are_told_where_a_runner_stands_whenever_that_changes(
    mailing: Calls, mailbox: Mailbox
) -> None:
    tenant, outbox_ = mailing.tenant, mailing.services.outbox
    runner_id = await propose_one(mailing)
    await until(outbox_.send_next)
    await approve(tenant, runner_id)
    await until(outbox_.send_next)
    await mailing.services.approvals.revoke(operator(), runner_id)
    await until(outbox_.send_next)
    assert not await outbox_.send_next()
    told = [message["Subject"].rpartition(": ")[2] for message in mailbox.messages]
    assert told == ["waits for approval", "approved", "waits for approval"]
    # `disabled` is an owner as well, and can do nothing about it.
    assert set(mailbox.recipients) == {f"{mailing.named('owner')[0]}@example.com"}
    texts = [message.get_content() for message in mailbox.messages]
    assert f"{mailing.named('owner')[0]} proposed it at 2" in texts[0]
    assert " UTC. Nothing is handed to it before" in texts[0]
    assert "Whoever runs this service approved it at 2" in texts[1]
    assert "Whoever runs this service took its approval back at 2" in texts[2]
    assert f"{PUBLIC_URL}/app/{tenant.organization}/runners" in texts[0].split()
    assert len({message["Message-ID"] for message in mailbox.messages}) == 3


async def test_owners_are_told_of_a_runner_that_handed_out_values_and_was_deleted_at_once(
    mailing: Calls, mailbox: Mailbox
) -> None:
    """Or whoever has the token of an owner who may approve would need five seconds, unseen."""
    tenant = mailing.tenant
    runner_id = await propose_one(mailing)
    await approve(tenant, runner_id)
    job = Job.new(tenant)
    await job.deliver(await job.exchange())
    assert (await tenant.call("owner", "DELETE", f"/runners/{runner_id}")).status_code == 204
    told = await letters(mailing, mailbox)
    assert f": deleted. {mailing.named('owner')[0]} deleted it at 2" in told["owner"]
    assert "takes the place of others" in told["owner"]


async def test_who_is_only_invited_to_be_an_owner_is_told_of_no_runner(
    mailing: Calls, mailbox: Mailbox
) -> None:
    await invite(mailing, team_ids=[mailing.tenant.teams["owners"]])
    await until(mailing.services.outbox.send_next)
    mailbox.recipients.clear()
    await propose_one(mailing)
    await until(mailing.services.outbox.send_next)
    assert mailbox.recipients == [f"{mailing.named('owner')[0]}@example.com"]


async def test_whoever_is_away_is_told_later_and_nobody_is_told_twice(
    mailing: Calls, mailbox: Mailbox
) -> None:
    await mailing.change("add", "writer", team="owners")
    await propose_one(mailing)
    owner, writer = (f"{one}@example.com" for one in mailing.named("owner", "writer"))
    mailbox.says[f"RCPT {owner}"] = "451 come back later"
    for _ in range(2):
        await until(mailing.services.outbox.send_next)
    assert mailbox.recipients == [writer]
    mailbox.says.clear()
    await mailing.node.execute("UPDATE memos SET due_at = 1")
    await until(mailing.services.outbox.send_next)
    assert mailbox.recipients == [writer, owner]
    assert not await mailing.services.outbox.send_next()


async def test_an_owner_without_an_address_is_told_nothing(
    mailing: Calls, mailbox: Mailbox
) -> None:
    owner = mailing.tenant.users["owner"]
    await mailing.node.execute(
        "UPDATE users SET email = NULL, email_folded = NULL WHERE id = $1", owner
    )
    await propose_one(mailing)
    assert not await mailing.services.outbox.send_next()


async def test_news_during_a_message_is_told_next(mailing: Calls, mailbox: Mailbox) -> None:
    runner_id = await propose_one(mailing)
    telling = asyncio.create_task(until(mailing.services.outbox.send_next))
    with mailbox.held():
        await mailbox.met.acquire()
        await approve(mailing.tenant, runner_id)
    await telling
    await until(mailing.services.outbox.send_next)
    told = [message["Subject"].rpartition(": ")[2] for message in mailbox.messages]
    assert told == ["waits for approval", "approved"]


# What owners are told of new owners


async def letters(mailing: Calls, mailbox: Mailbox) -> dict[str, str]:
    """What those are told who are told anything, one letter each, by their names."""
    mailbox.messages.clear()
    while await mailing.services.outbox.send_next():
        pass
    told = {str(one["To"]).rpartition("-")[0]: one.get_content() for one in mailbox.messages}
    assert len(told) == len(mailbox.messages)
    return told


async def test_who_was_an_owner_is_told_by_one_letter_of_all_who_a_request_makes_owners(
    mailing: Calls, mailbox: Mailbox
) -> None:
    owner, writer, reader, invited, plain = mailing.named(
        "owner", "writer", "reader", "invited", "plain"
    )
    await mailing.change("add", "plain")  # to no owners
    await mailing.change("add", "invited", "reader", "writer", team="owners")
    told = await letters(mailing, mailbox)
    assert set(told) == {"owner"}  # `disabled` is one as well, and can do nothing about it
    assert f"UTC: {reader}, {writer}. {owner} did that." in told["owner"]
    assert mailing.tenant.organization in mailbox.messages[0]["Subject"]
    assert invited not in told["owner"]
    assert "@" not in told["owner"]
    await mailing.change("add", "plain", team="owners", who="writer")
    told = await letters(mailing, mailbox)
    assert set(told) == {"owner", "reader", "writer"}
    assert all(f"UTC: {plain}. {writer} did that." in text for text in told.values())
    await mailing.change("remove", "plain", team="owners")
    assert await letters(mailing, mailbox) == {}
    await mailing.change("add", "plain", team="owners", who="writer")
    await mailing.change("remove", "owner", "reader", team="owners", who="writer")
    assert set(await letters(mailing, mailbox)) == {"owner", "reader", "writer"}


async def test_owners_are_told_of_whoever_accepts_an_invitation_to_be_one(
    mailing: Calls, mailbox: Mailbox
) -> None:
    (invited,) = mailing.named("invited")
    await mailing.change("add", "invited", team="owners")
    assert await letters(mailing, mailbox) == {}
    for who in ("invited", "invited_writer"):
        by = caller(mailing.tenant, who)
        await mailing.services.invitations.accept(by, mailing.tenant.memberships[who])
    told = await letters(mailing, mailbox)
    assert set(told) == {"owner"}
    assert f"UTC: {invited}. {invited} accepted an invitation." in told["owner"]


async def test_owners_are_told_by_one_letter_of_all_whom_a_directory_file_makes_owners(
    mailing: Calls, mailbox: Mailbox
) -> None:
    owner, *others = mailing.named("owner", "disabled", "invited", "outsider", "plain")
    _, invited, outsider, plain = others
    await mailing.change("add", "invited", team="owners")
    active = dict.fromkeys((invited, outsider), Status.ACTIVE)
    file = TeamEntry("owners", members=(owner, *others))
    await mailing.apply(file, members=active)
    told = await letters(mailing, mailbox)
    assert set(told) == {"owner"}
    named = f"UTC: {invited}, {outsider}, {plain}. Whoever runs this service did that."
    assert named in told["owner"]
    await mailing.apply(file)
    assert await letters(mailing, mailbox) == {}


async def test_owners_are_told_of_an_owner_who_is_enabled_again(
    mailing: Calls, mailbox: Mailbox
) -> None:
    for person, told in (("disabled", {"owner"}), ("plain", set[str]())):
        await mailing.services.accounts.disable(operator(), mailing.named(person)[0], FORCED)
        await mailing.services.accounts.enable(operator(), mailing.named(person)[0])
        assert set(await letters(mailing, mailbox)) == told


async def test_of_owners_who_come_one_after_another_one_letter_waits_and_says_that_there_are_more(
    mailing: Calls, mailbox: Mailbox
) -> None:
    await mailing.change("add", "plain", team="owners")
    telling = asyncio.create_task(until(mailing.services.outbox.send_next))
    with mailbox.held():
        await mailbox.met.acquire()
        for direction in ("remove", "add"):  # as if somebody would bury it
            await mailing.change(direction, "reader", "writer", team="owners")
    await telling
    first = mailbox.messages[0]
    mailbox.says["RCPT"] = "451 come back later"
    await until(mailing.services.outbox.send_next)
    await mailing.node.execute("UPDATE memos SET due_at = 1")
    mailbox.says.clear()
    told = await letters(mailing, mailbox)
    (second,) = (one for one in mailbox.messages if one["To"] == first["To"])
    assert second["Message-ID"] != first["Message-ID"]
    assert set(told) == {"owner", "plain"}
    assert "takes the place of others" in told["owner"]
    assert "takes the place of others" not in told["plain"]


async def test_owners_of_several_organizations_are_told_at_once_each_of_their_own(
    mailing: Calls, mailbox: Mailbox
) -> None:
    others = [Calls(await build_tenant(mailing.node), mailing.node) for _ in range(3)]
    every = [mailing, *others]
    await asyncio.gather(*(one.change("add", "plain", team="owners") for one in every))
    while await mailing.services.outbox.send_next():
        pass
    told = {str(one["To"]): one.get_content() for one in mailbox.messages}
    assert len(told) == len(mailbox.messages) == len(every)
    for one in every:
        owner, plain = one.named("owner", "plain")
        assert f"UTC: {plain}. {owner} did that." in told[f"{owner}@example.com"]


async def test_the_first_owner_of_an_organization_is_told_nothing(
    mailing: Calls, mailbox: Mailbox
) -> None:
    admin = caller(mailing.tenant, "admin")
    draft = OrganizationDraft(name=f"new-{uuid4().hex}")
    await mailing.services.organizations.create(admin, draft)
    await build_tenant(mailing.node)
    assert await letters(mailing, mailbox) == {}


# Memos


async def put_memo(calls: Calls, address: str = "alice@example.com") -> Memo:
    memo = Memo(
        uuid4().hex, address, "A subject", "What there is to say.", calls.services.database.now()
    )

    async def body(tx: Transaction) -> None:
        statement = tables.inserting(memo, memo.due_at)
        await tx.execute(statement.sql, *statement.args)

    await calls.services.database.write(body)
    return memo


async def test_what_somebody_keeps_changing_keeps_back_no_message_of_others(
    mailing: Calls, mailbox: Mailbox
) -> None:
    runner_id = await propose_one(mailing)
    await put_memo(mailing)
    # Both wait for a minute when the runner changes again.
    await mailing.node.execute("UPDATE memos SET due_at = due_at - 60000000")
    await approve(mailing.tenant, runner_id)
    for _ in range(2):
        await until(mailing.services.outbox.send_next)
    first, _ = (message["Subject"] for message in mailbox.messages)
    assert first == "A subject"


async def memos_left(calls: Calls) -> list[tuple[Any, ...]]:
    return (await dump(calls.services.database))["memos"]


async def test_a_memo_goes_to_whom_it_is_for_and_nothing_of_it_is_left(
    mailing: Calls, mailbox: Mailbox, outcomes: list[str]
) -> None:
    await put_memo(mailing)
    await until(mailing.services.outbox.send_next)
    (message,) = mailbox.messages
    assert (message["Subject"], mailbox.recipients) == ("A subject", ["alice@example.com"])
    assert message.get_content().splitlines() == ["What there is to say.", "", PUBLIC_URL]
    assert await memos_left(mailing) == []
    assert outcomes == ["sent"]


async def test_a_memo_is_tried_again_and_given_up_in_the_end(
    mailing: Calls, mailbox: Mailbox, outcomes: list[str]
) -> None:
    await put_memo(mailing)
    mailbox.says["RCPT"] = "451 come back later"
    for _ in range(GIVEN_UP_AFTER):
        await mailing.node.execute("UPDATE memos SET due_at = 1")
        assert await mailing.services.outbox.send_next()
    assert await memos_left(mailing) == []
    assert mailbox.messages == []
    assert outcomes == [*["put off"] * (GIVEN_UP_AFTER - 1), "given up"]


async def test_a_memo_to_an_address_that_is_refused_for_good_is_given_up(
    mailing: Calls, mailbox: Mailbox
) -> None:
    await put_memo(mailing)
    mailbox.says["RCPT"] = "550 nobody of that name"
    await until(mailing.services.outbox.send_next)
    assert await memos_left(mailing) == []


async def test_a_memo_is_kept_for_a_day_where_there_is_no_mail(calls: Calls) -> None:
    await calls.services.outbox.forget_stale()  # of none
    memo = await put_memo(calls)
    assert not await calls.services.outbox.send_next()
    async with asyncio.timeout(HANGS):
        await calls.services.outbox.run()
    await calls.services.outbox.forget_stale()
    assert [row[0] for row in await memos_left(calls)] == [memo.id]
    await calls.node.execute("UPDATE memos SET due_at = due_at - $1", STALE_AFTER)
    await calls.services.outbox.forget_stale()
    assert await memos_left(calls) == []


@pytest.mark.parametrize(
    ("column", "value", "its"),
    [
        ("subject", "two\nlines", []),
        ("attempts", 2**63 - 1, ["altered"]),
        ("attempts", -(2**63), ["altered"]),
    ],
    ids=str,
)
async def test_a_memo_that_was_altered_is_sent_if_it_can_be_and_keeps_back_no_other(
    mailing: Calls, mailbox: Mailbox, column: str, value: object, its: list[str]
) -> None:
    assert await subjects_beside(mailing, mailbox, column, value) == [*its, "A subject"]


async def subjects_beside(
    mailing: Calls, mailbox: Mailbox, column: str, value: object
) -> list[str]:
    """What is sent where a memo was altered and another comes after it."""
    bad = await put_memo(mailing)
    await put_memo(mailing)
    await mailing.node.execute(
        "UPDATE memos SET due_at = 1, subject = 'altered' WHERE id = $1", bad.id
    )
    await mailing.node.execute(f"UPDATE memos SET {column} = $1 WHERE id = $2", value, bad.id)
    while await mailing.services.outbox.send_next():
        pass
    await mailing.services.outbox.forget_stale()
    return [message["Subject"] for message in mailbox.messages]


WAITING = ("invitations", "memos")
"""Where messages wait."""


NUMBERS = ("9223372036854775807", "-9223372036854775808", "0")
BYTES = ("CAST('' AS {bytes})", "CAST('ab' AS {bytes})")
TEXTS = ("''", "'two\nlines'", "'\\ \x01'")
ALTERED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "invitations": {
        "membership_id": TEXTS,
        "link_hash": (*BYTES, "NULL"),
        "expires_at": NUMBERS,
        "invited_by": (*TEXTS, "NULL"),
        "sealed_secret": BYTES,
        "key_version": (*NUMBERS, "NULL"),
        "due_at": NUMBERS,
        "attempts": NUMBERS,
    },
    "memos": {
        "id": TEXTS,
        "address": TEXTS,
        "subject": TEXTS,
        "text": TEXTS,
        "page": TEXTS,
        "due_at": NUMBERS,
        "attempts": NUMBERS,
    },
}
"""What somebody may write by hand into the columns of which messages are made."""
ANYTHING = ("CAST(x'ff' AS TEXT)", "x'ff'", "'soon'", "9e99", "0.5")
"""What SQLite takes into every column besides."""


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, its in ALTERED.items() for column in its]
)
async def test_a_message_whose_row_was_altered_by_hand_keeps_back_no_other(
    modules_own: Deployment, mailbox: Mailbox, table: str, column: str
) -> None:
    own = Calls(await build_tenant(modules_own))
    is_sqlite = modules_own.config.url.startswith("sqlite")
    async with node(own, mailbox.server(insecure=True)) as mailing:
        for value in (*ALTERED[table][column], *(ANYTHING if is_sqlite else ())):
            for there in WAITING:
                await mailing.node.alter(f"DELETE FROM {there}")
            await wait_in(mailing, table)
            await mailing.node.alter(f"UPDATE {table} SET due_at = due_at - 1000000")
            await mailing.node.alter(f"UPDATE {table} SET {column} = {value}")
            others = {await wait_in(mailing, table), await wait_in(mailing, "memos")}
            mailbox.messages.clear()
            for _ in range(4):
                await mailing.services.outbox.send_next()
            assert not await mailing.services.outbox.send_next()
            assert {message["Subject"] for message in mailbox.messages} >= others, value


async def wait_in(calls: Calls, table: str) -> str:
    """Has one more wait to be sent; returns its subject."""
    if table == "invitations":
        await invite(calls)
        return f"Invitation to {calls.tenant.organization}"
    return (await put_memo(calls)).subject


@pytest.mark.parametrize(
    ("table", "altered", "told", "outcome"),
    [
        ("memos", "address = ''", "a memo was not sent", "given up"),
        ("invitations", "membership_id = 'gone'", "no invitation has the message", "put off"),
        ("invitations", "sealed_secret = link_hash", "does not open", None),
    ],
    ids=str,
)
async def test_what_cannot_be_sent_as_its_row_was_altered_is_told(
    modules_own: Deployment,
    mailbox: Mailbox,
    outcomes: list[str],
    capfd: pytest.CaptureFixture[str],
    table: str,
    altered: str,
    told: str,
    outcome: str | None,
) -> None:
    own = Calls(await build_tenant(modules_own))
    async with node(own, mailbox.server(insecure=True)) as mailing:
        for there in WAITING:
            await mailing.node.alter(f"DELETE FROM {there}")
        await wait_in(mailing, table)
        await mailing.node.alter(f"UPDATE {table} SET {altered}")
        capfd.readouterr()
        await mailing.services.outbox.send_next()
    assert told in "".join(capfd.readouterr())
    assert (outcomes, mailbox.messages) == ([outcome] if outcome else [], [])


class Overtaken:
    """A store in which another node has claimed what waits by the time that this one writes."""

    def __init__(self, calls: Calls, table: str, until: int = 11) -> None:
        self._calls = calls
        self._table = table
        self._until = until
        self._database = calls.services.database
        self.writes = 0

    async def write(self, body: Body[T]) -> T:
        self.writes += 1
        claim = f"UPDATE {self._table} SET due_at = $1 WHERE due_at = 10"
        await self._calls.node.execute(claim, self._until)
        return await self._database.write(body)

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)


@ON_SQLITE
@pytest.mark.parametrize("table", WAITING)
@pytest.mark.parametrize(("now", "writes"), [(9, 0), (10, 1)])
async def test_only_what_is_due_is_claimed_and_what_another_node_has_claimed_is_its(
    mailing: Calls, mailbox: Mailbox, table: str, now: int, writes: int
) -> None:
    await wait_in(mailing, table)
    await mailing.node.execute(f"UPDATE {table} SET due_at = 10 WHERE due_at > 0")
    sender, store = mailing.services.outbox, Overtaken(mailing, table)
    sender._clock = lambda: now
    sender._database = cast(Database, store)
    assert not await sender.send_next()
    assert store.writes == writes
    assert mailbox.messages == []


@ON_SQLITE
async def test_news_is_told_although_another_node_has_claimed_what_was_old_before_it(
    mailing: Calls, mailbox: Mailbox
) -> None:
    old = await put_memo(mailing)
    await mailing.node.execute("UPDATE memos SET due_at = 10 WHERE id = $1", old.id)
    await propose(mailing.tenant, name="news")
    sender = mailing.services.outbox
    sender._database = cast(Database, Overtaken(mailing, "memos", until=LATEST))
    assert await sender.send_next()
    (message,) = mailbox.messages
    assert message["Subject"].endswith("waits for approval")
    assert [row[0] for row in await memos_left(mailing)] == [old.id]
