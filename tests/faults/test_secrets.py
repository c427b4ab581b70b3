"""No value comes to light where it must not.

Every write has a value of its own, a canary, that is searched for in every form it could take.
"""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from rich.pretty import pretty_repr

from teamvars.domain.invitations import Invited, Letter
from teamvars.domain.keys import Sealed
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.tokens import NewToken, Token
from teamvars.domain.users import User
from teamvars.domain.variables import SourceCode, StoredVariable, ValueDraft
from teamvars.hcl import definitions
from teamvars.mail import Server
from teamvars.security.tokens import hash_token
from teamvars.services.code.examination import FileJob
from teamvars.services.invitations import Issued
from teamvars.services.parsed_files import FileDraft
from teamvars.storage.database import Transaction
from teamvars.variable_files import Format, parse
from teamvars.web.dialects import STANDARD
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.sending import Response
from teamvars.web.logins import DeviceAnswer
from teamvars.web.oauth import TokenAnswer
from teamvars.web.sign_ins import TakenUp
from teamvars.web.variables import requests
from tests.faults.aviary import Aviary
from tests.faults.canaries import Flock, canary, finds, forms
from tests.faults.outlets import let_out
from tests.support.commands import Host
from tests.support.postgres import LocalPostgres
from tests.support.served_deployment import serve_deployment
from tests.support.tenant import Tenant, build_tenant, variable_document


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


@pytest.mark.parametrize("keyed", [False, True], ids=["without keys", "with keys"])
async def test_no_value_is_found_in_answers_logs_audit_or_any_file(
    aviary: Aviary, keyed: bool
) -> None:
    flock, served = Flock(), aviary.served
    without_any = {hash(content) for _, content in aviary.files()}  # nothing is let out yet
    tenant = await build_tenant(served)
    answers = await let_out(tenant, flock, keyed=keyed)
    token = await made_token(tenant, keyed=keyed)
    assert {answer.status_code for answer in answers} >= {200, 204, 400, 403, 404, 409, 422}
    for answer in answers:
        told = answer.content + repr(answer.headers.raw).encode()
        assert not finds(told, *flock.hidden), answer.request.url
    audit = aviary.trail()
    assert b"variable.create" in audit
    assert not finds(audit, *flock.values, *flock.known)
    assert not finds(served.server.log.encode(), *flock.values, *flock.known)
    tokens = [token, *tenant.tokens.values()]
    control: set[str] = set()
    searched = ""
    for path, content in aviary.files():
        searched += f"{path}\n"
        if hash(content) in without_any:
            continue
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
    draft, _ = requests.create_draft(document, Identifier("ws-1", "workspaces"), STANDARD)
    file = json.dumps({"a": secret, "b": f"{secret}\0"})
    variable = draft.build("ws-1", 0, ("var-1", "v-1"))
    assert (draft.value, variable.value) == (secret, secret)
    user = User("user-1", "carol", None, site_admin=False)
    membership = Membership("ou-1", "org-1", "acme", user, Status.INVITED, 0)
    invited = Invited("ou-1", "org-1", "acme", None, "carol@example.com", user, 0)
    shown: list[object] = [
        draft,
        variable,
        StoredVariable(variable, Sealed(b"sealed", 1), 1),
        ValueDraft(secret),
        SourceCode(secret, "/data"),
        FileDraft(Format.JSON, secret),
        FileJob(Format.JSON, secret),
        parse(Format.JSON, file),
        *parse(Format.JSON, file).items,
        *definitions(f"a = {json.dumps(secret)}"),
        NewToken(Token("at-1", "user", "user-1", 0, None, None), secret),
        Issued(membership, secret),
        Letter(invited, secret, b"hash"),
        Server(secret, "from", "url"),
        Response(200, secret.encode()),
        TakenUp(secret, "at-1"),
        TokenAnswer(secret, 900),
        DeviceAnswer(secret, "BCDFG-HJKLM", "url"),
    ]
    for one in shown:
        assert not finds(f"{one!r} {one} {pretty_repr(one)}".encode(), secret), type(one)
    assert finds(repr(document).encode(), secret)  # the control: a plain dict hides nothing


async def test_what_a_dump_of_the_tokens_holds_authenticates_nobody(tenant: Tenant) -> None:
    async def dump(tx: Transaction) -> set[bytes]:
        return {bytes(row[0]) for row in await tx.fetch("SELECT hash FROM tokens")}

    dumped = await tenant.deployment.services.database.read(dump)
    hashes = {hash_token(token) for token in tenant.tokens.values()}
    assert hashes <= dumped
    for hash_ in hashes:
        for shown in (hash_.hex(), base64.b64encode(hash_).decode(), hash_.decode("latin-1")):
            for token in (shown, f"tvu_{shown}", f"tvu_{shown[:49]}"):
                headers = {b"Authorization": f"Bearer {token}".encode("latin-1")}
                answer = await tenant.deployment.client.get(tenant.vars_path(), headers=headers)
                assert answer.status_code == 401
    good = await tenant.call("owner", "GET", tenant.vars_path())
    assert good.status_code == 200
