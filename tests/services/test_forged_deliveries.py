"""Whoever writes the database is handed nothing new, and breaks nothing for others.

Each attack is on runners that would be handed the values without it: `test_without_an_attack…`.
"""

# ruff: noqa: S608 - what is put together here is an attack

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pytest

from teamvars.domain.access import Caller
from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page
from teamvars.protocol.bundles import Delivered, Info
from teamvars.security.tokens import RUNNER, hash_token, new_token
from teamvars.services.deliveries import IssuedToken
from teamvars.storage.database import Row, Transaction
from tests.services.jobs import Job, approve, propose
from tests.support.tenant import Tenant, variable_document


@dataclass
class Victim:
    """A runner that is approved for `network`, and a token of one of its jobs."""

    tenant: Tenant
    job: Job
    runner_id: str
    issued: IssuedToken

    async def execute(self, *statements: str) -> None:
        """Has the database changed by somebody else."""

        async def body(tx: Transaction) -> None:
            for statement in statements:
                await tx.execute(statement.format(**self.names))

        await self.tenant.deployment.services.database.write(body)

    async def rows(self, statement: str) -> Sequence[Row]:
        """What a statement finds."""
        sql = statement.format(**self.names)
        return await self.tenant.deployment.services.database.read(lambda tx: tx.fetch(sql))

    @property
    def names(self) -> dict[str, str]:
        """What statements are filled with."""
        return {
            "runner": self.runner_id,
            "token": self.blob(hash_token(self.issued.token)),
            "bytes": self.blob(b"\1" * 32),
            "network": self.tenant.workspaces["network"],
            "payments": self.tenant.workspaces["payments"],
            "elsewhere": self.tenant.other_workspace,
        }

    def blob(self, content: bytes) -> str:
        """Bytes as SQL has them."""
        is_sqlite = self.tenant.deployment.config.url.startswith("sqlite")
        return f"x'{content.hex()}'" if is_sqlite else f"decode('{content.hex()}', 'hex')"

    async def handed(self, workspace: str = "network") -> set[str]:
        """The keys that its job is handed with the token it has, or with a new one."""
        job = Job(self.tenant, self.job.key, workspace)
        keys: set[str] = set()
        with suppress(Refusal):
            keys |= await _keys(self.job.deliver(self.issued, workspace=workspace))
        with suppress(Refusal):
            keys |= await _keys(job.deliver(await job.exchange(), workspace=workspace))
        return keys


async def _keys(delivering: Awaitable[tuple[Info, Sequence[Delivered]]]) -> set[str]:
    _, values = await delivering
    return {each.key for each in values}


@pytest.fixture
async def victim(tenant: Tenant) -> Victim:
    """One, with a secret in both workspaces of the organization."""
    for workspace in ("network", "payments"):
        document = variable_document(key="password", value="hunter2", sensitive=True)
        answer = await tenant.call("owner", "POST", tenant.vars_path(workspace), document)
        assert answer.status_code == 201
    runner_id = await propose(tenant)
    await approve(tenant, runner_id)
    job = Job.new(tenant)
    return Victim(tenant, job, runner_id, await job.exchange())


async def test_without_an_attack_the_job_is_handed_its_workspace_and_no_other(
    victim: Victim,
) -> None:
    assert await victim.handed() == {"password"}
    assert await victim.handed("payments") == set()


EDITS = {
    "approved_version": "approved_version + 1",
    "approved_body": 'replace(approved_body, \'"sub":"job"\', \'"sub":"jab"\')',
    "approved_reach": '\'["{network}","{payments}"]\'',
    "approved_issuer": "approved_issuer || ' '",
    "approved_at": "approved_at + 1",
    "approved_by": "'somebody'",
    "approval_key_id": "'ak-another'",
    "approval_mac": "{bytes}",
    "body": 'replace(body, \'"sub":"job"\', \'"sub":"jab"\')',
}


@pytest.mark.parametrize("column", sorted(EDITS))
async def test_an_edited_column_of_a_runner_hands_out_nothing(victim: Victim, column: str) -> None:
    await victim.execute(f"UPDATE runners SET {column} = {EDITS[column]} WHERE id = '{{runner}}'")
    assert await victim.handed() == await victim.handed("payments") == set()


WIDER = (
    'replace(replace({}, \'["{{network}}"]\', \'["{{network}}","{{payments}}"]\'), '
    '\'"workspace_patterns":[]\', \'"workspace_patterns":["p*"]\')'
)


@pytest.mark.parametrize(
    "columns",
    [
        f"body = {WIDER.format('body')}",
        f"approved_body = {WIDER.format('approved_body')}, body = {WIDER.format('body')}",
        f"body = {WIDER.format('body')}, version = version + 1",
    ],
)
async def test_no_edit_adds_a_workspace(victim: Victim, columns: str) -> None:
    await victim.execute(f"UPDATE runners SET {columns} WHERE id = '{{runner}}'")
    (row,) = await victim.rows("SELECT body FROM runners WHERE id = '{runner}'")
    assert victim.tenant.workspaces["payments"] in row[0]  # or nothing was attacked
    assert await victim.handed("payments") == set()


TOKEN_EDITS = {
    "version": "version + 1",
    "workspace_id": "'{payments}'",
    "thumbprint": "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'",
    "is_bound": "1 - is_bound",
    "claims": "replace(claims, 'job', 'jab')",
    "run_link": "'https://example.com/another'",
    "expires_at": "expires_at + 1",
    "key_id": "'ak-another'",
    "mac": "{bytes}",
    "hash": "{bytes}",
}


@pytest.mark.parametrize("column", TOKEN_EDITS)
async def test_an_edited_column_of_a_token_delivers_nothing(victim: Victim, column: str) -> None:
    edit = f"UPDATE runner_tokens SET {column} = {TOKEN_EDITS[column]} WHERE hash = {{token}}"
    await victim.execute(edit)
    for workspace in ("network", "payments"):
        with pytest.raises(Refusal, match="unauthenticated"):
            await victim.job.deliver(victim.issued, workspace=workspace)


async def test_a_token_that_somebody_writes_for_a_key_of_their_own_delivers_nothing(
    victim: Victim,
) -> None:
    thief, token = Job.new(victim.tenant), new_token(RUNNER)
    forged = {"hash": victim.blob(hash_token(token)), "thumbprint": f"'{thief.key.thumbprint}'"}
    names = "hash runner_id version workspace_id thumbprint is_bound claims run_link expires_at "
    columns = (names + "key_id mac").split()
    values = ", ".join(forged.get(name, name) for name in columns)
    await victim.execute(
        f"INSERT INTO runner_tokens ({', '.join(columns)}) "
        f"SELECT {values} FROM runner_tokens WHERE hash = {{token}}"
    )
    issued = IssuedToken(token, victim.runner_id, 1, 900)
    with pytest.raises(Refusal, match="unauthenticated"):
        await thief.deliver(issued)


APPROVED = (
    "approved_version, approved_body, approved_reach, approved_issuer, approved_at, approved_by, "
    "approval_key_id, approval_mac"
)


async def test_a_copied_approval_is_that_of_no_other_runner(victim: Victim) -> None:
    await victim.execute(
        "INSERT INTO runners (id, organization_id, name, name_folded, version, body, created_at, "
        f"{APPROVED}) SELECT 'run-another', organization_id, 'x', 'x', version, body, created_at, "
        f"{APPROVED} FROM runners WHERE id = '{{runner}}'"
    )
    form = {"runner": "run-another"}
    with pytest.raises(Refusal, match="invalid_target"):
        await victim.job.exchange(**form)
    await victim.execute("UPDATE runner_tokens SET runner_id = 'run-another' WHERE hash = {token}")
    with pytest.raises(Refusal, match="unauthenticated"):
        await victim.job.deliver(victim.issued)
    await victim.execute("DELETE FROM runners WHERE id = 'run-another'")


async def test_a_runner_that_moves_to_another_organization_reaches_nothing_there(
    victim: Victim,
) -> None:
    elsewhere = "(SELECT organization_id FROM workspaces WHERE id = '{elsewhere}')"
    await victim.execute(
        f"UPDATE runners SET organization_id = {elsewhere} WHERE id = '{{runner}}'",
        "UPDATE runner_tokens SET workspace_id = '{elsewhere}' WHERE hash = {token}",
    )
    with pytest.raises(Refusal, match="unauthenticated"):
        await victim.job.deliver(victim.issued)
    assert await victim.handed() == set()


async def test_a_workspace_that_moves_to_another_organization_is_handed_out_no_more(
    victim: Victim,
) -> None:
    theirs = "SELECT organization_id FROM workspaces WHERE id = '{elsewhere}'"
    await victim.execute(
        "DELETE FROM grants WHERE workspace_id = '{network}'",
        f"UPDATE workspaces SET organization_id = ({theirs}) WHERE id = '{{network}}'",
    )
    assert await victim.handed() == set()


async def test_a_renamed_workspace_joins_no_pattern_and_leaves_it_at_once(tenant: Tenant) -> None:
    job, runner_id = (
        Job.new(tenant),
        await propose(tenant, workspace_ids=(), workspace_patterns=("net*",)),
    )
    await approve(tenant, runner_id)
    victim = Victim(tenant, job, runner_id, await job.exchange())
    await job.deliver(victim.issued)
    rename = "UPDATE workspaces SET name = '{0}', name_folded = '{0}' WHERE id = '{1}'"
    await victim.execute(rename.format("net-2", "{payments}"))
    assert await victim.handed("payments") == set()
    await victim.execute(rename.format("other", "{network}"))
    with pytest.raises(Refusal, match="unauthenticated"):
        await job.deliver(victim.issued)
    with pytest.raises(Refusal, match="invalid_target"):
        await job.exchange()


UNREADABLE = ["''", "'{{'", "'[]'", "'null'", "'{{\"name\":1}}'", "'[1]'"]


@pytest.mark.parametrize("content", UNREADABLE)
@pytest.mark.parametrize("column", ["body", "approved_body", "approved_reach"])
async def test_a_runner_that_cannot_be_read_is_handed_nothing_and_others_go_on(
    victim: Victim, column: str, content: str
) -> None:
    await approve(victim.tenant, await propose(victim.tenant, name="other"))
    await victim.execute(f"UPDATE runners SET {column} = {content} WHERE id = '{{runner}}'")
    with pytest.raises(Refusal, match="unauthenticated"):
        await victim.job.deliver(victim.issued)
    with pytest.raises(Refusal, match="invalid_target"):
        await victim.job.exchange(runner=victim.runner_id)
    issued = await victim.job.exchange()
    assert issued.runner_id != victim.runner_id
    await victim.job.deliver(issued)
    tenant = victim.tenant
    owner = Caller(hash_token(tenant.tokens["owner"]), new_id("req"))
    runners = tenant.deployment.services.runners
    listed = await runners.list(owner, tenant.organization, Page())
    assert len(listed.items) == 2


@pytest.mark.parametrize("content", UNREADABLE)
async def test_a_token_whose_claims_cannot_be_read_delivers_nothing(
    victim: Victim, content: str
) -> None:
    await victim.execute(f"UPDATE runner_tokens SET claims = {content} WHERE hash = {{token}}")
    with pytest.raises(Refusal, match="unauthenticated"):
        await victim.job.deliver(victim.issued)
