"""Someone with the database but not the keyring edits the trail: `audit verify` says where.

The commands run as an operator runs them, on a copy of a store that a real server has filled.
"""

import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from teamvars.storage.database import Transaction
from teamvars.storage.engines import database_for
from tests.faults.server_under_load import server_under_load
from tests.storage.stores import migrated_host
from tests.support.commands import Host
from tests.support.postgres import Postgres
from tests.support.server import Server
from tests.support.tenant import JSON_API, variable_document

ENTRIES = 12
Statement = tuple[str, Sequence[object]]
COLUMNS = {
    "at": "at + 1",
    "actor_kind": "'operator'",
    "actor_id": "actor_id || 'x'",
    "token_id": "NULL",
    "request_id": "request_id || 'x'",
    "action": "'variable.delete'",
    "subject_type": "'teams'",
    "subject_id": "subject_id || 'x'",
    "details": "details || ' '",
    "key_id": "key_id || 'x'",
    "previous": "link",
    "version": "version - 1",
    "address": "address || 'x'",
    "link": "previous",
}
_IN_STREAM = "FROM audit_entries WHERE stream_id = $1 AND sequence"
_HERE = "WHERE stream_id = $1 AND sequence = $2"
_MOVE = "UPDATE audit_entries SET sequence = $3 WHERE stream_id = $1 AND sequence = $2"


@dataclass(frozen=True)
class Filled:
    """A host whose workspace has a history of `ENTRIES` changes, and how to copy it."""

    host: Host
    stream: str
    token: str
    postgres: Postgres | None

    def copy(self, folder: Path) -> Host:
        """Another host with the same store and keyring."""
        shutil.copytree(self.host.data, folder / "teamvars-data")
        if self.postgres is None:
            return Host(folder)
        name, source = f"copy-{uuid4()}", self.host.settings["DATABASE_URL"].rpartition("/")[2]
        self.postgres.create_database(name, template=source)
        return Host(folder, {"DATABASE_URL": self.postgres.url(name)})


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filled]:
    """Filled by a server that is gone."""
    on_postgres = request.param == "postgres"
    postgres = request.getfixturevalue("postgres") if on_postgres else None
    with migrated_host(request, tmp_path_factory.mktemp("filled")) as host:
        hit = server_under_load(host)
        with hit.server as server, server.client(hit.token) as client:
            for n in range(ENTRIES):
                _create(client, hit.path, f"key-{n}")
            server.terminate()
        yield Filled(hit.server.host, hit.path.split("/")[4], hit.token, postgres)


def _create(client: httpx.Client, path: str, key: str) -> None:
    document = variable_document(key=key)
    answer = client.post(path, json=document, headers={"Content-Type": JSON_API})
    assert answer.status_code == 201


async def tamper(host: Host, statements: Sequence[Statement]) -> None:
    """Does it to the host's store behind the service's back."""
    default = f"sqlite:///{host.data / 'teamvars.db'}"

    async def body(tx: Transaction) -> None:
        for sql, arguments in statements:
            await tx.execute(sql, *arguments)

    async with database_for(host.settings.get("DATABASE_URL", default)) as database:
        await database.write(body)


def edited(stream: str, at: int) -> list[Statement]:
    """One column of one entry is another."""
    column = random.choice(sorted(COLUMNS))
    sql = f"UPDATE audit_entries SET {column} = {COLUMNS[column]} "  # noqa: S608 - constants
    return [(sql + _HERE, (stream, at))]


def deleted(stream: str, at: int) -> list[Statement]:
    """One entry is gone."""
    return [(f"DELETE {_IN_STREAM} = $2", (stream, at))]


def swapped(stream: str, at: int) -> list[Statement]:
    """Two entries have changed places."""
    steps = ((at, 1000), (at + 1, at), (1000, at + 1))
    return [(_MOVE, (stream, *step)) for step in steps]


def closed_up(stream: str, at: int) -> list[Statement]:
    """One entry is gone, and all that can be known without the keyring was made to fit."""
    joined = f"UPDATE audit_entries SET previous = (SELECT previous {_IN_STREAM} = $2)"  # noqa: S608 - constants
    later = [(_MOVE, (stream, n + 1, n)) for n in range(at, ENTRIES)]
    return [
        (f"{joined} WHERE stream_id = $1 AND sequence = $3", (stream, at, at + 1)),
        *deleted(stream, at),
        *later,
        ("UPDATE streams SET sequence = sequence - 1 WHERE id = $1", (stream,)),
    ]


def inserted(stream: str, at: int) -> list[Statement]:
    """An entry was added in the middle, and the later ones moved on."""
    columns = "stream_id, at, actor_kind, actor_id, token_id, request_id, action"
    columns += ", subject_type, subject_id, details, key_id, previous, version, address, link"
    later = [(_MOVE, (stream, n, n + 1)) for n in range(ENTRIES, at - 1, -1)]
    copy = f"INSERT INTO audit_entries ({columns}, sequence) SELECT {columns}, sequence - 1 "
    return [
        *later,
        (f"{copy}{_IN_STREAM} = $2", (stream, at + 1)),
        (f"UPDATE audit_entries SET request_id = 'x' {_HERE}", (stream, at)),  # noqa: S608 - constants
        ("UPDATE streams SET sequence = sequence + 1 WHERE id = $1", (stream,)),
    ]


def cut_off(stream: str, at: int) -> list[Statement]:
    """The newest entries are gone, and the stream was moved back to what remains."""
    link = f"UPDATE streams SET link = (SELECT previous {_IN_STREAM} = $2), sequence = $3"  # noqa: S608 - constants
    return [
        (f"{link} WHERE id = $1", (stream, at, at - 1)),
        (f"DELETE {_IN_STREAM} >= $2", (stream, at)),
    ]


@pytest.mark.parametrize("times", [1, pytest.param(20, id="long", marks=pytest.mark.long)])
@pytest.mark.parametrize("how", [edited, deleted, swapped, closed_up, inserted, cut_off])
async def test_a_store_that_was_tampered_with_is_found_out_at_the_first_broken_entry(
    filled: Filled, tmp_path: Path, how: Callable[[str, int], list[Statement]], times: int
) -> None:
    for n in range(times):
        (folder := tmp_path / str(n)).mkdir()
        host, at = filled.copy(folder), random.randrange(1, ENTRIES)
        assert host.run("audit", "verify").code == 0
        await tamper(host, how(filled.stream, at))
        found = host.run("audit", "verify")
        assert found.code == 3, f"{how} at {at}"
        assert f"{filled.stream} entry {at}:" in found.out, f"{how} at {at}: {found.out}"


def wiped(stream: str, _: int) -> list[Statement]:
    """All entries are gone, and the stream's row says that there never was one."""
    link = f"UPDATE streams SET link = (SELECT previous {_IN_STREAM} = $2), sequence = 0"  # noqa: S608 - constants
    return [
        (f"{link} WHERE id = $1", (stream, 1)),
        (f"DELETE {_IN_STREAM} > 0", (stream,)),
    ]


@pytest.mark.parametrize("how", [cut_off, wiped])
async def test_no_change_makes_a_cut_trail_whole_and_an_operator_may_accept_it(
    filled: Filled, tmp_path: Path, how: Callable[[str, int], list[Statement]]
) -> None:
    host = filled.copy(tmp_path)
    path = f"/api/v2/workspaces/{filled.stream}"
    await tamper(host, how(filled.stream, ENTRIES - 2))
    told = f"trail: Streams that were altered outside of the service (1): {filled.stream}"
    assert told in host.run("doctor").out
    with Server(host) as server, server.client(filled.token) as client:
        client.headers["Content-Type"] = JSON_API
        for method, place, document in (
            ("POST", f"{path}/vars", variable_document(key="after")),
            ("DELETE", path, None),
        ):
            answer = client.request(method, place, json=document)
            assert answer.status_code == 503, answer.text
            assert answer.json()["errors"][0]["code"] == "trail_altered"
            assert answer.json()["errors"][0]["meta"] == {"stream": filled.stream}
            assert "Retry-After" not in answer.headers
        found = host.run("audit", "verify")
        assert found.code == 3
        digest = re.findall(f"^{filled.stream} found: ([0-9a-f]{{64}})$", found.out, re.M)[0]
        asked = "audit", "accept", filled.stream, "--reason", "three entries are gone", "--found"
        assert host.run(*asked, "0" * 64).code == 6
        accepted = host.run(*asked, digest)
        assert accepted.code == 0, accepted.err
        assert host.run("audit", "verify").code == 3
        _create(client, f"{path}/vars", "after")
        place = accepted.out.strip()
        assert host.run("audit", "verify", "--accepted", place).code == 0
        content = host.run("doctor").out
        assert "ok       trail:" in content
        assert "ok       rows:" in content
    assert server.log.count("the audit trail was altered") == 1
