"""No value comes to light where it must not, and none opens anywhere but in its own row.

Every write has a value of its own, a canary, that is searched for in every form it could take.
"""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from rich.pretty import pretty_repr
from structlog.testing import capture_logs

from teamvars.domain.tokens import Token
from teamvars.domain.variables import SourceCode, ValueDraft
from teamvars.domain.workspaces import Workspace
from teamvars.hcl import definitions
from teamvars.security.tokens import hash_token
from teamvars.services.code.examination import FileJob
from teamvars.services.parsed_files import FileDraft
from teamvars.services.tokens import NewToken
from teamvars.storage.database import Transaction
from teamvars.storage.variables import StoredVariable
from teamvars.variable_files import Format, parse
from teamvars.web.dialects import STANDARD
from teamvars.web.variables import requests
from tests.support.commands import Host
from tests.support.postgres import LocalPostgres
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.tenant import JSON_API, Tenant, build_tenant, variable_document


def canary() -> str:
    """A value like no other, that every way of writing it down writes differently."""
    return f'cänary "{uuid4().hex}" <&/+\\\n%>'


def forms(secret: str) -> set[bytes]:
    """Every form in which a value could be lying around."""
    raw = secret.encode()
    # In a longer text, base64 begins at any of three places; what the neighbours share is cut off.
    shifted = {base64.b64encode(b"x" * n + raw)[4 * bool(n) : -4] for n in range(3)}
    return {
        raw,
        raw.hex().encode(),
        raw.hex().upper().encode(),
        *shifted,
        *(form.translate(bytes.maketrans(b"+/", b"-_")) for form in shifted),
        quote(secret).encode(),
        quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        json.dumps(json.dumps(secret))[3:-3].encode(),
        repr(secret)[1:-1].encode(),
        repr(raw)[2:-1].encode(),
    }


def finds(haystack: bytes, *secrets: str) -> set[str]:
    """Those of the secrets that are in there, in whatever form."""
    return {secret for secret in secrets if any(form in haystack for form in forms(secret))}


@dataclass
class Flock:
    """The canaries that were let out, by where they may be seen."""

    hidden: list[str] = field(default_factory=list)
    """Sensitive, or refused: in no answer."""
    shown: list[str] = field(default_factory=list)
    """In the answers to readers, and nowhere else."""
    known: list[str] = field(default_factory=list)
    """The control: descriptions, which are stored as they are."""

    def hide(self) -> str:
        self.hidden.append(canary())
        return self.hidden[-1]

    def show(self) -> str:
        self.shown.append(canary())
        return self.shown[-1]

    def know(self) -> str:
        self.known.append(canary())
        return self.known[-1]

    @property
    def values(self) -> list[str]:
        return self.hidden + self.shown


@dataclass(frozen=True)
class Aviary:
    """A served store, every folder that anything of it is written to, and a tenant."""

    served: ServedDeployment
    tenant: Tenant
    folders: list[Path]

    def files(self) -> Iterator[tuple[Path, bytes]]:
        """What every file holds now."""
        for folder in self.folders:
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink():
                    yield path, path.read_bytes()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def aviary(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Aviary]:
    host = Host(tmp_path_factory.mktemp("aviary")).having(log_format="json")
    if request.param == "sqlite":
        async with open_aviary(host, []) as aviary:
            yield aviary
        return
    with LocalPostgres(durable=True) as server:  # or its log of changes would be behind
        server.create_database("teamvars")
        host = host.having(database_url=server.url("teamvars"))
        async with open_aviary(host, [server.folder / "data", server.folder / "log"]) as aviary:
            yield aviary


@asynccontextmanager
async def open_aviary(host: Host, folders: list[Path]) -> AsyncIterator[Aviary]:
    async with serve_deployment(host) as served:
        yield Aviary(served, await build_tenant(served), [host.folder, *folders])


def file_document(file_format: str, content: str) -> Any:
    attributes = {"format": file_format, "content": content}
    return {"data": {"type": "parsed-files", "attributes": attributes}}


async def let_out(tenant: Tenant, flock: Flock, *, keyed: bool) -> list[httpx.Response]:
    """Writes of every kind, accepted and refused; returns the answers.

    With keys each is sent twice. A key is its client's own, and nobody else's business.
    """
    answers = []

    async def send(method: str, path: str, document: Any, who: str = "owner") -> httpx.Response:
        headers = {}
        if keyed and method in ("POST", "PATCH"):
            flock.hidden.append(uuid4().hex)
            headers["Idempotency-Key"] = flock.hidden[-1]
            answers.append(await tenant.call(who, method, path, document, headers))
        answers.append(await tenant.call(who, method, path, document, headers))
        return answers[-1]

    async def create(key: str, value: object, **attributes: Any) -> str:
        document = variable_document(key=key, value=value, **attributes)
        made = await send("POST", tenant.vars_path(), document)
        return made.json()["data"]["id"] if made.status_code == 201 else ""

    def change(variable_id: str, **attributes: Any) -> Any:
        return {"data": {"type": "vars", "id": variable_id, "attributes": attributes}}

    plain = await create("plain", flock.show(), description=flock.know())
    secret = await create("secret", flock.hide(), sensitive=True)
    env = await create("env", flock.hide(), sensitive=True, category="env")
    code = await create("code", json.dumps(flock.hide()), sensitive=True, hcl=True)
    hidden_later = await create("later", flock.hide())
    path = tenant.vars_path()
    answers.clear()  # `later` was still shown
    await send("PATCH", f"{path}/{hidden_later}", change(hidden_later, sensitive=True))
    await send("PATCH", f"{path}/{secret}", change(secret, value=flock.hide()))
    await send("PATCH", f"{path}/{plain}", change(plain, value=flock.hide(), sensitive=True))
    await send("PATCH", f"{path}/{code}", change(code, value=json.dumps(flock.hide())))
    # Refused, each for another reason.
    await create("secret", flock.hide())
    await create("bad key", flock.hide())
    await create("bad", flock.hide(), category=flock.hide(), hcl="yes", more=flock.hide())
    await create("long", flock.hide() * 10_000)
    await create("syntax", flock.hide(), hcl=True)
    await create("typed", [flock.hide()])
    await send("PATCH", f"{path}/{secret}", change(secret, sensitive=False, value=flock.hide()))
    await send("PATCH", f"{path}/{secret}", change(env, value=flock.hide()))
    await send("POST", path, variable_document(value=flock.hide()), who="reader")
    await send("POST", path, variable_document(value=flock.hide()), who="outsider")
    await send("POST", tenant.linkage_path(), {"data": [{"type": "users", "id": flock.hide()}]})
    for broken in ("{", '{"a":1,"a":%s}', "[%s" * 40):
        content = broken.replace("%s", json.dumps(flock.hide()))
        headers = {
            "Authorization": f"Bearer {tenant.tokens['owner']}",
            "Content-Type": JSON_API,
        }
        answers.append(await tenant.deployment.client.post(path, content=content, headers=headers))
    parse = f"/workspaces/{tenant.workspaces['network']}/actions/parse"
    for file_format in Format:
        await send("POST", parse, file_document(file_format, flock.hide()))
        await send("POST", parse, file_document(file_format, f"a = ${{{flock.hide()}}}"))
        await send("POST", parse, file_document(file_format, flock.hide()), who="reader")
    await send("POST", parse, file_document("json", json.dumps({"a": flock.show()})))
    await send("POST", parse, file_document(flock.hide(), flock.hide()))
    await send("GET", f"{path}?value={quote(flock.hide())}", None)
    for who in ("owner", "reader"):
        await send("GET", path, None, who=who)
        await send("GET", f"{path}/{secret}", None, who=who)
        await send("GET", f"/workspaces/{tenant.workspaces['network']}/audit-events", None, who=who)
    await send("DELETE", f"{path}/{env}", None)
    return answers


@pytest.mark.parametrize("keyed", [False, True], ids=["without keys", "with keys"])
async def test_no_value_is_found_in_answers_logs_audit_or_any_file(
    aviary: Aviary, keyed: bool
) -> None:
    flock, served = Flock(), aviary.served
    tenant = await build_tenant(served)
    answers = await let_out(tenant, flock, keyed=keyed)
    token = await made_token(tenant, keyed=keyed)
    assert {answer.status_code for answer in answers} >= {200, 204, 400, 403, 404, 409, 422}
    for answer in answers:
        told = answer.content + repr(answer.headers.raw).encode()
        assert not finds(told, *flock.hidden), answer.request.url
    audit = served.host.succeed("audit", "list").out + served.host.succeed("audit", "export").out
    assert "variable.create" in audit
    assert not finds(audit.encode(), *flock.values, *flock.known)
    assert not finds(served.server.log.encode(), *flock.values, *flock.known)
    tokens = [token, *tenant.tokens.values()]
    control: set[str] = set()
    searched = ""
    for path, content in aviary.files():
        searched += f"{path}\n"
        assert not finds(content, *flock.values, *tokens), path
        control |= finds(content, *flock.known)
    assert control == set(flock.known)
    assert "-wal\n" in searched or "/pg_wal/" in searched


async def made_token(tenant: Tenant, *, keyed: bool) -> str:
    """A token that was made over HTTP."""
    path = f"/users/{tenant.users['owner']}/authentication-tokens"
    document = {"data": {"type": "authentication-tokens", "attributes": {}}}
    headers = {"Idempotency-Key": uuid4().hex} if keyed else {}
    made = await tenant.call("owner", "POST", path, document, headers)
    token: str = made.json()["data"]["attributes"]["token"]
    return token


@pytest.mark.parametrize("number", range(len(forms(canary()))))
def test_the_search_finds_a_planted_value_in_each_form(number: int) -> None:
    secret = canary()
    planted = sorted(forms(secret))[number]
    assert finds(b"before" + planted + b"after", secret, canary()) == {secret}
    assert finds(base64.b64encode(f"a longer text with {secret} in it".encode()), secret)
    assert not finds(b"before and after", secret)


def test_no_object_shows_a_value_or_a_token_by_its_repr() -> None:
    secret = canary()
    document = variable_document(value=secret)
    draft, _ = requests.create_draft(document, "ws-1", STANDARD)
    file = json.dumps({"a": secret, "b": f"{secret}\0"})
    variable = draft.build(Workspace("ws-1", "network", "org-1", "acme"), 0)
    assert (draft.value, variable.value) == (secret, secret)
    shown: list[object] = [
        draft,
        variable,
        StoredVariable(variable, b"sealed", 1),
        ValueDraft(secret),
        SourceCode(secret, "/data"),
        FileDraft(Format.JSON, secret),
        FileJob(Format.JSON, secret),
        parse(Format.JSON, file),
        *parse(Format.JSON, file).items,
        *definitions(f"a = {json.dumps(secret)}"),
        NewToken(Token("at-1", "user", "user-1", 0, None, None), secret),
    ]
    for one in shown:
        assert not finds(f"{one!r} {one} {pretty_repr(one)}".encode(), secret), type(one)
    assert finds(repr(document).encode(), secret)  # the control: a plain dict hides nothing


async def test_what_a_dump_of_the_tokens_holds_authenticates_nobody(tenant: Tenant) -> None:
    async def dump(tx: Transaction) -> list[bytes]:
        return [bytes(row[0]) for row in await tx.fetch("SELECT hash FROM tokens")]

    dumped = await tenant.deployment.services.database.read(dump)
    assert hash_token(tenant.tokens["owner"]) in dumped
    for hash_ in dumped:
        for shown in (hash_.hex(), base64.b64encode(hash_).decode(), hash_.decode("latin-1")):
            for token in (shown, f"tvu_{shown}", f"tvu_{shown[:49]}"):
                headers = {b"Authorization": f"Bearer {token}".encode("latin-1")}
                answer = await tenant.deployment.client.get(tenant.vars_path(), headers=headers)
                assert answer.status_code == 401
    good = await tenant.call("owner", "GET", tenant.vars_path())
    assert good.status_code == 200


@dataclass(frozen=True)
class Row:
    """A variable as one of the tests of tampering makes it."""

    path: str
    id: str
    value: str


async def make(tenant: Tenant, path: str, who: str = "owner", **attributes: Any) -> Row:
    value = canary()
    document = variable_document(key=f"key-{uuid4()}", value=value, **attributes)
    made = await tenant.call(who, "POST", path, document)
    return Row(path, made.json()["data"]["id"], value)


async def execute(tenant: Tenant, statement: str, *args: object) -> None:
    """Tampers with the store."""
    await tenant.deployment.services.database.write(lambda tx: tx.execute(statement, *args))


async def give_sealed_value(tenant: Tenant, source: Row, target: Row) -> None:
    await execute(
        tenant,
        "UPDATE variables SET sealed_value = "
        "(SELECT sealed_value FROM variables WHERE id = $1) WHERE id = $2",
        source.id,
        target.id,
    )


async def refuses_to_show(tenant: Tenant, row: Row, *secrets: str, who: str = "owner") -> None:
    """Reading is an honest 500 that tells nothing; the log names the variable, and no value."""
    for path in (f"{row.path}/{row.id}", row.path):
        with capture_logs() as logged:
            answer = await tenant.call(who, "GET", path)
        assert answer.status_code == 500
        assert [error["code"] for error in answer.json()["errors"]] == ["internal_error"]
        told = answer.content + repr(logged).encode()
        assert not finds(told, row.value, *secrets)
        assert any(row.id in line["event"] or "data key" in line["event"] for line in logged)


async def test_a_sealed_value_opens_in_no_other_row(tenant: Tenant) -> None:
    here = tenant.vars_path()
    elsewhere = f"/workspaces/{tenant.other_workspace}/vars"
    sources = [
        await make(tenant, here),
        await make(tenant, here, sensitive=True),
        await make(tenant, tenant.vars_path("payments")),
        await make(tenant, elsewhere, who="outsider"),
    ]
    for source in sources:
        target = await make(tenant, here)
        await give_sealed_value(tenant, source, target)
        await refuses_to_show(tenant, target, source.value)
        await execute(tenant, "DELETE FROM variables WHERE id = $1", target.id)


async def test_a_flag_flipped_behind_our_back_shows_no_secret(tenant: Tenant) -> None:
    secret = await make(tenant, tenant.vars_path(), sensitive=True)
    await execute(tenant, "UPDATE variables SET sensitive = 0 WHERE id = $1", secret.id)
    await refuses_to_show(tenant, secret)


async def test_a_row_moved_to_another_workspace_or_given_another_id_does_not_open(
    tenant: Tenant,
) -> None:
    moved = await make(tenant, tenant.vars_path("payments"))
    await execute(
        tenant,
        "UPDATE variables SET workspace_id = $1 WHERE id = $2",
        tenant.workspaces["network"],
        moved.id,
    )
    await refuses_to_show(tenant, Row(tenant.vars_path(), moved.id, moved.value))
    renamed = await make(tenant, tenant.vars_path("payments"))
    await execute(tenant, "UPDATE variables SET id = $1 WHERE id = $2", "var-other", renamed.id)
    await refuses_to_show(tenant, Row(renamed.path, "var-other", renamed.value))


async def organization_of(tenant: Tenant, workspace_id: str) -> str:
    async def body(tx: Transaction) -> str:
        sql = "SELECT organization_id FROM workspaces WHERE id = $1"
        row = await tx.fetch_one(sql, workspace_id)
        assert row is not None
        found: str = row[0]
        return found

    return await tenant.deployment.services.database.read(body)


async def test_a_data_key_opens_in_no_other_organization(tenant: Tenant) -> None:
    row = await make(tenant, tenant.vars_path())
    await execute(
        tenant,
        "UPDATE data_keys SET wrapped = "
        "(SELECT wrapped FROM data_keys WHERE organization_id = $1) WHERE organization_id = $2",
        await organization_of(tenant, tenant.other_workspace),
        await organization_of(tenant, tenant.workspaces["network"]),
    )
    await refuses_to_show(tenant, row)


async def test_a_data_key_opens_under_no_other_version(tenant: Tenant) -> None:
    row = await make(tenant, tenant.vars_path())
    mine = await organization_of(tenant, tenant.workspaces["network"])
    await execute(tenant, "UPDATE data_keys SET version = 2 WHERE organization_id = $1", mine)
    await execute(tenant, "UPDATE organizations SET data_key_version = 2 WHERE id = $1", mine)
    await refuses_to_show(tenant, row)


async def test_a_value_that_does_not_open_keeps_no_other_from_being_read_and_can_be_deleted(
    tenant: Tenant,
) -> None:
    """A list is whole or refused: one that leaves a variable out would be taken for the truth."""
    path = tenant.vars_path()
    good, broken = await make(tenant, path), await make(tenant, path)
    await give_sealed_value(tenant, good, broken)
    await refuses_to_show(tenant, broken, good.value)
    answer = await tenant.call("reader", "GET", f"{path}/{good.id}")
    assert answer.json()["data"]["attributes"]["value"] == good.value
    assert (await tenant.call("owner", "DELETE", f"{path}/{broken.id}")).status_code == 204
    listed = await tenant.variables()
    assert [variable["attributes"]["value"] for variable in listed] == [good.value]
