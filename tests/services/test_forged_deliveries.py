"""Whoever writes the database is handed nothing new, and breaks nothing for others.

Each attack is on runners that would be handed the values without it: `test_without_an_attack…`.
"""

# ruff: noqa: S608 - what is put together here is an attack

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from teamvars.domain.errors import Refusal
from teamvars.protocol.bundles import Delivered, Info
from teamvars.security.tokens import RUNNER, hash_token, new_token
from teamvars.services.deliveries import IssuedToken
from teamvars.storage.database import Row, Transaction
from tests.services.jobs import Job, approve, propose
from tests.storage.stores import fresh_sqlite
from tests.support.deployment import open_deployment, operator
from tests.support.jobs import job_token
from tests.support.tenant import Tenant, build_tenant, variable_document


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
            "other": f"other-{self.runner_id}",
        }

    @property
    def is_on_sqlite(self) -> bool:
        """Where a column may hold what is not of its type."""
        return self.tenant.deployment.config.url.startswith("sqlite")

    def blob(self, content: bytes) -> str:
        """Bytes as SQL has them."""
        return f"x'{content.hex()}'" if self.is_on_sqlite else f"decode('{content.hex()}', 'hex')"

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
    return await _victim_in(tenant)


async def _victim_in(tenant: Tenant) -> Victim:
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


HANDS_OUT_NOTHING = {
    "id": "'{runner}X'",
    "organization_id": "(SELECT organization_id FROM workspaces WHERE id = '{elsewhere}')",
    "approved_version": "approved_version + 1",
    "approved_body": 'replace(approved_body, \'"sub":"job"\', \'"sub":"jab"\')',
    "approved_reach": '\'["{network}","{payments}"]\'',
    "approved_issuer": "approved_issuer || ' '",
    "approved_mode": "'owner'",
    "approved_at": "approved_at + 1",
    "approved_by": "'somebody'",
    "approval_key_id": "'ak-another'",
    "approval_mac": "{bytes}",
    "body": 'replace(body, \'"sub":"job"\', \'"sub":"jab"\')',
}
SAYS_NOTHING = {
    "name": "'another'",
    "name_folded": "'another'",
    "version": "version + 1",
    "proposed_by": "'{network}'",
    "created_at": "0",
}
"""Columns that nothing is handed out by, whatever they hold: the job gets what it got before."""
EDITS = {**HANDS_OUT_NOTHING, **SAYS_NOTHING}


@pytest.mark.parametrize("column", EDITS)
async def test_an_edited_column_of_a_runner_hands_out_nothing_new(
    victim: Victim, column: str
) -> None:
    if column == "id":  # which its tokens refer to
        await victim.execute("DELETE FROM runner_tokens WHERE runner_id = '{runner}'")
    await victim.execute(f"UPDATE runners SET {column} = {EDITS[column]} WHERE id = '{{runner}}'")
    before = {"password"} if column in SAYS_NOTHING else set()
    assert await victim.handed() == before
    assert await victim.handed("payments") == set()


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
    "runner_id": "(SELECT max(id) FROM runners WHERE name = '{other}')",
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
    await approve(victim.tenant, await propose(victim.tenant, name=victim.names["other"]))
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
    "approved_version, approved_body, approved_reach, approved_issuer, approved_mode, approved_at, "
    "approved_by, approval_key_id, approval_mac"
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


USED_EDITS = {"hash": "{bytes}", "expires_at": "1"}


@pytest.mark.parametrize("column", USED_EDITS)
async def test_a_used_token_that_somebody_makes_good_again_is_good_for_its_own_key_alone(
    victim: Victim, column: str
) -> None:
    token, thief = job_token(victim.job.key.thumbprint), Job.new(victim.tenant)
    await victim.job.exchange(token)
    edit = f"UPDATE used_assertions SET {column} = {USED_EDITS[column]} WHERE hash NOT IN ({{old}})"
    await victim.execute(edit.replace("{old}", await _older(victim)))
    await victim.tenant.deployment.services.deliveries.forget_expired()
    issued = await thief.exchange(token)  # good again, as the documents say
    with pytest.raises(Refusal, match="invalid_value"):
        await thief.deliver(issued)
    assert await _keys(victim.job.deliver(issued)) == {"password"}


async def _older(victim: Victim) -> str:
    """The hashes of all issuers' tokens that were used but for the last, as SQL."""
    rows = await victim.rows("SELECT hash FROM used_assertions ORDER BY expires_at")
    return ", ".join(victim.blob(bytes(row[0])) for row in rows[:-1]) or "NULL"


RECEIPT_EDITS = {
    "runner_id": "'{other}'",
    "workspace_id": "'{payments}'",
    "organization_id": "(SELECT organization_id FROM workspaces WHERE id = '{elsewhere}')",
    "at": "0",
    "versions": "'x'",
    "run_link": "'javascript:'",
}


@pytest.mark.parametrize("column", RECEIPT_EDITS)
async def test_the_note_of_a_delivery_hands_out_nothing_and_is_shown_whatever_it_holds(
    victim: Victim, column: str
) -> None:
    await victim.job.deliver(victim.issued)
    await victim.execute(
        f"UPDATE runner_deliveries SET {column} = {RECEIPT_EDITS[column]} "
        "WHERE runner_id = '{runner}'"
    )
    path = f"/organizations/{victim.tenant.organization}/deliveries"
    answer = await victim.tenant.call("owner", "GET", path)
    assert answer.status_code == 200
    assert len(answer.json()["data"]) == (column != "organization_id")
    assert await victim.handed() == {"password"}
    assert await victim.handed("payments") == set()


VERDICTS = {
    "runners": EDITS,
    "runner_tokens": TOKEN_EDITS,
    "used_assertions": USED_EDITS,
    "runner_deliveries": RECEIPT_EDITS,
}


async def test_every_column_of_what_deliveries_rest_on_has_been_edited(victim: Victim) -> None:
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = '{}'"
    if victim.is_on_sqlite:
        columns = "SELECT name FROM pragma_table_info('{}')"
    for table, edits in VERDICTS.items():
        assert {row[0] for row in await victim.rows(columns.format(table))} == edits.keys()
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    if victim.is_on_sqlite:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    about = {name for (name,) in await victim.rows(tables) if "runner" in name or "used" in name}
    assert about == VERDICTS.keys()


NO_UTF8 = "CAST(x'ff41' AS TEXT)"
"""What SQLite alone keeps as a text, and its driver cannot read."""
UNREADABLE = ["''", "'{{'", "'[]'", "'null'", "'{{\"name\":1}}'", "'[1]'"]


@pytest.mark.parametrize("content", UNREADABLE)
@pytest.mark.parametrize("column", ["body", "approved_body", "approved_reach"])
async def test_a_runner_that_cannot_be_read_is_handed_nothing_and_others_go_on(
    victim: Victim, column: str, content: str
) -> None:
    other = await propose(victim.tenant, name="other")
    await approve(victim.tenant, other)
    await victim.job.deliver(victim.issued)
    await victim.execute(f"UPDATE runners SET {column} = {content} WHERE id = '{{runner}}'")
    with pytest.raises(Refusal, match="unauthenticated"):
        await victim.job.deliver(victim.issued)
    with pytest.raises(Refusal, match="invalid_target"):
        await victim.job.exchange(runner=victim.runner_id)
    await _goes_on(victim, other)


@pytest.fixture
async def victim_on_sqlite(tmp_path: Path) -> AsyncIterator[Victim]:
    """One in a store of its own: of what is done to it, other tests could read no row."""
    async with open_deployment(fresh_sqlite(tmp_path)) as deployment:
        yield await _victim_in(await build_tenant(deployment))


async def test_a_text_that_nobody_can_read_stops_no_other_runner(
    victim_on_sqlite: Victim,
) -> None:
    victim = victim_on_sqlite
    other = await propose(victim.tenant, name="other")
    await approve(victim.tenant, other)
    await victim.job.deliver(victim.issued)
    for column in EDITS.keys() - {"id", "organization_id"}:
        await victim.execute(f"UPDATE runners SET {column} = {NO_UTF8} WHERE id = '{{runner}}'")
        await _goes_on(victim, other)
    for column in RECEIPT_EDITS.keys() - {"runner_id", "workspace_id", "organization_id"}:
        edit = f"UPDATE runner_deliveries SET {column} = {NO_UTF8}"
        await victim.execute(f"{edit} WHERE runner_id = '{{runner}}'")
    await _goes_on(victim, other)
    for column in TOKEN_EDITS.keys() - {"hash", "runner_id", "workspace_id", "is_bound"}:
        edit = f"UPDATE runner_tokens SET {column} = {NO_UTF8}"
        await victim.execute(f"{edit} WHERE runner_id = '{{runner}}'")
        with pytest.raises(Refusal, match="unauthenticated"):
            await victim.job.deliver(victim.issued)


async def _goes_on(victim: Victim, other: str) -> None:
    """Another runner is handed what it was, and everybody is shown all there are."""
    issued = await victim.job.exchange(runner=other)
    assert await _keys(victim.job.deliver(issued)) == {"password"}
    for noun in ("runners", "deliveries"):
        path = f"/organizations/{victim.tenant.organization}/{noun}"
        answer = await victim.tenant.call("owner", "GET", path)
        assert (answer.status_code, len(answer.json()["data"])) == (200, 2)
    listed = await victim.tenant.deployment.services.approvals.proposals(operator())
    assert {victim.runner_id, other} <= {one.view.runner.id for one in listed}


@pytest.mark.parametrize("content", UNREADABLE)
async def test_a_token_whose_claims_cannot_be_read_delivers_nothing(
    victim: Victim, content: str
) -> None:
    await victim.execute(f"UPDATE runner_tokens SET claims = {content} WHERE hash = {{token}}")
    with pytest.raises(Refusal, match="unauthenticated"):
        await victim.job.deliver(victim.issued)
