"""Invitations of a real server that dies at the worst moments: every message arrives, and secrets
are found nowhere.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli.store import execute
from tests.faults.canaries import finds
from tests.storage.stores import migrated_host
from tests.support.commands import Host
from tests.support.mailbox import SENDER, Mailbox, open_mailbox, secret_in
from tests.support.server import Server

JSON_API = {"Content-Type": "application/vnd.api+json"}
DIRECTORY = """\
users:
  - {username: alice, email: alice@example.com}
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network]
    teams:
      - {name: owners, members: [alice]}
"""


@dataclass
class Office:
    """A served installation with an owner, and the mailbox its messages go to."""

    server: Server
    mailbox: Mailbox
    token: str

    @property
    def host(self) -> Host:
        return self.server.host

    def invite(self, address: str) -> str:
        """Invites over HTTP; returns the id of the membership."""
        path = "/api/v2/organizations/acme/organization-memberships"
        document = {"data": {"type": "organization-memberships", "attributes": {"email": address}}}
        with self.server.client(self.token) as client:
            answer = client.post(path, json=document, headers=JSON_API)
        assert answer.status_code == 201, answer.text
        id_: str = answer.json()["data"]["id"]
        return id_

    def accept(self, secret: str) -> int:
        """The status of accepting by that link."""
        document = {"data": {"type": "invitations", "attributes": {"secret": secret}}}
        with self.server.client() as client:
            path = "/api/v2/invitations/actions/accept"
            return client.post(path, json=document, headers=JSON_API).status_code

    async def restart(self) -> None:
        """Starts it again, when what it had claimed is due again."""
        execute(self.host, "UPDATE invitations SET due_at = 1 WHERE due_at IS NOT NULL")
        await asyncio.to_thread(self.server.start)


@pytest.fixture(params=["sqlite", "postgres"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    with migrated_host(request, tmp_path) as host:
        yield host.having(log_format="json")


@pytest.fixture
async def office(host: Host) -> AsyncIterator[Office]:
    async with open_mailbox() as mailbox:
        server = Server(host)
        server.host = host.having(
            smtp_url=f"smtp://127.0.0.1:{mailbox.port}",
            smtp_insecure="true",
            mail_from=SENDER,
            public_url=server.url,
        )
        (host.folder / "directory.yaml").write_text(DIRECTORY)
        server.host.succeed("init")
        server.host.succeed("directory", "apply", "directory.yaml")
        token = server.host.succeed("token", "create", "--user", "alice").out.strip()
        await asyncio.to_thread(server.start)
        try:
            yield Office(server, mailbox, token)
        finally:
            await asyncio.to_thread(server.kill)


async def test_a_message_outlives_a_server_that_is_killed_before_it_is_sent(
    office: Office,
) -> None:
    office.mailbox.silence = 60
    invited = await asyncio.to_thread(office.invite, "carol@example.com")
    await asyncio.sleep(0.5)  # it is talking to the mail server, or about to
    await asyncio.to_thread(office.server.kill)
    office.mailbox.silence = 0
    beside = office.host.succeed("invite", "create", "dan@example.com", "--organization", "acme")
    assert beside.out == ""  # a message carries the link
    await office.restart()
    await office.mailbox.next(2)
    assert sorted(office.mailbox.recipients) == ["carol@example.com", "dan@example.com"]
    secrets = [secret_in(message) for message in office.mailbox.messages]
    assert [await asyncio.to_thread(office.accept, one) for one in secrets] == [201, 201]
    assert invited not in office.host.succeed("invite", "list").out
    office.host.succeed("audit", "verify")


async def test_a_message_comes_again_and_is_good_once_after_a_kill_before_it_is_erased(
    office: Office,
) -> None:
    office.mailbox.on_message = office.server.kill
    await asyncio.to_thread(office.invite, "carol@example.com")
    first = await office.mailbox.next()
    office.mailbox.on_message = lambda: None
    await office.restart()
    second = await office.mailbox.next(2)
    assert first["Message-ID"] == second["Message-ID"]
    assert secret_in(first) == secret_in(second)
    statuses = [await asyncio.to_thread(office.accept, secret_in(one)) for one in (first, second)]
    assert statuses == [201, 422]
    office.host.succeed("audit", "verify")


async def test_secrets_are_in_no_file_no_log_and_no_trail(office: Office) -> None:
    addresses = [f"{uuid4().hex}@example.com" for _ in range(3)]
    for address in addresses:
        await asyncio.to_thread(office.invite, address)
    messages = [await office.mailbox.next(number) for number in (1, 2, 3)]
    shown = office.host.succeed(
        "invite", "create", "dan@example.com", "--organization", "acme", "--show-link"
    ).out.strip()
    assert shown.startswith(f"{office.server.url}/invitations#tvi_")
    secrets = [*map(secret_in, messages), shown.partition("#")[2]]
    await asyncio.to_thread(office.accept, secrets[0])
    office.mailbox.silence = 60
    await asyncio.to_thread(office.invite, "late@example.com")  # and is in the outbox
    trail = office.host.succeed("audit", "export").out
    told = [office.server.log, office.host.run("doctor").out]
    assert not finds("".join([*told, trail]).encode(), *secrets, office.token)
    assert not finds("".join(told).encode(), *addresses)
    assert finds(trail.encode(), *addresses) == set(addresses)
    for path in office.host.folder.rglob("*"):
        if path.is_file() and path.name not in (".out", ".err"):  # what the operator was shown
            assert not finds(path.read_bytes(), *secrets), path
