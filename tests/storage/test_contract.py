"""What storage's functions may rely on: the same statement means the same on both engines."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from teamvars.domain.errors import Refusal
from teamvars.domain.keys import Sealed
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Right, Team, Visibility
from teamvars.domain.users import User
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.kernel.variables import Category
from teamvars.storage import organizations, streams, tables, teams, users, variables
from teamvars.storage.database import Database, MissingReference, Taken, Transaction
from tests.security.samples import VARIABLE
from tests.storage.stores import adding, bring_up, opened, words
from tests.support.deployment import Deployment

# What both engines store: neither NUL nor half a character.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)

ODD = (
    "",
    " ",
    "1",
    "01",
    "true",
    "null",
    '"quoted"',
    "it's",
    "back\\slash",
    "\\u0041",
    "%",
    "_",
    "[1]",
    '{"a": 1}',
    "$1",
    "{text}",
    "tab\tnew\nline",
    "é",
    "e\u0301",
    "😀",
    "\ufeff",
    "\u0131",
    "ß",
    "SS",
)


HEAD = bytes(32)
NAMED = {"name": "Acme", "name_folded": "acme", "created_at": 1}
OF_ACME = {"organization_id": "org-1", **NAMED}
MANAGES = frozenset({Right.MANAGE_MEMBERSHIP})
TEAM = {"visibility": "secret", "manage_membership": 1, "is_owners": 0}
BEGUN = {"sequence": 0, "link": HEAD, "head": HEAD}
ROWS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("streams", {"id": "org-1", **BEGUN}),
    ("streams", {"id": "team-1", **BEGUN}),
    ("streams", {"id": "ws-1", **BEGUN}),
    ("organizations", {"id": "org-1", "data_key_version": 1, **NAMED}),
    ("workspaces", {"id": "ws-1", **OF_ACME}),
    ("teams", {"id": "team-1", **TEAM, **OF_ACME}),
)


@pytest.fixture
async def schema(empty_url: str) -> AsyncIterator[Database]:
    """A store with a workspace `ws-1` of an organization `org-1`, and nothing else."""

    async def body(tx: Transaction) -> None:
        for table, row in ROWS:
            names, places = ", ".join(row), ", ".join(f"${n}" for n in range(1, len(row) + 1))
            await tx.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", *row.values())  # noqa: S608

    async with opened(empty_url) as database:
        await bring_up(database)
        await database.write(body)
        yield database


def stored(key: str, **changes: Any) -> StoredVariable:
    """A variable of `ws-1`."""
    variable = replace(VARIABLE, **{"id": f"var-{key}", "key": key, **changes})
    return StoredVariable(variable, Sealed(b"sealed", 1), 6)


async def insert(database: Database, *rows: StoredVariable) -> None:
    async def body(tx: Transaction) -> None:
        for row in rows:
            await tx.write_each(variables.inserting(row).part)

    await database.write(body)


async def list_(database: Database) -> list[Variable]:
    """The list, alone; its values are opened to the sealed text, the generation of its key and the
    id that they are of."""

    async def body(tx: Transaction) -> list[Variable]:
        def opened(sealed: bytes, version: int, id_: str) -> str:
            return f"{sealed.decode()} {version} {id_}"

        found = await variables.find_all(tx, "ws-1", HEAD, opened, few=False)
        assert found is not None
        return list(found)

    return await database.read(body)


async def test_what_is_run_for_many_rows_is_run_in_their_order(database: Database) -> None:
    rows = [("a", "first"), ("b", "only"), ("a", "second")]

    async def body(tx: Transaction) -> None:
        insert = "INSERT INTO things (id, note) VALUES ($1, $2)"
        await tx.execute_many(insert, [(id_, "") for id_ in "abc"])
        await tx.execute_many("UPDATE things SET note = $2 WHERE id = $1", rows)

    async def notes(tx: Transaction) -> list[tuple[object, ...]]:
        return [tuple(row) for row in await tx.fetch("SELECT id, note FROM things ORDER BY id")]

    await database.write(body)
    assert await database.read(notes) == [("a", "second"), ("b", "only"), ("c", "")]


async def test_list_membership_finds_exactly_the_strings_of_the_list(database: Database) -> None:
    async def chosen(tx: Transaction) -> list[str]:
        rows = await tx.fetch("SELECT id FROM things WHERE id IN {each $1}", json.dumps(wanted))
        return [row[0] for row in rows]

    await asyncio.gather(*(database.write(adding(id_)) for id_ in ODD))
    for wanted in ([id_] for id_ in ODD):
        assert await database.read(chosen) == wanted
    for wanted in (list(ODD[::2]), ["absent", *ODD[1:3], ODD[1]], []):
        assert sorted(await database.read(chosen)) == sorted(set(wanted) - {"absent"})


async def test_text_sorts_by_code_points(database: Database) -> None:
    keys = [*"ZaBbéeß\u017fﬁ一\ue000😀_-1", "10", "aB", "a-b"]

    async def body(tx: Transaction) -> list[str]:
        return [row[0] for row in await tx.fetch("SELECT id FROM things ORDER BY id")]

    await asyncio.gather(*(database.write(adding(key)) for key in keys))
    assert await database.read(body) == sorted(keys)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXT, max_size=8, unique=True), content=st.binary(max_size=300))
async def test_text_and_bytes_and_numbers_come_back_as_they_were(
    deployment: Deployment, texts: list[str], content: bytes
) -> None:
    async def body(tx: Transaction) -> tuple[list[str], bytes, int, None]:
        rows = await tx.fetch("SELECT value FROM (SELECT $1 AS value) AS one", texts_as_json)
        row = await tx.fetch_one(
            "INSERT INTO keyring_keys (id, purpose, check_value, created_at) "
            "VALUES ('of a test', 'audit', $1, $2) RETURNING check_value, created_at",
            content,
            2**62,
        )
        assert row is not None
        raise Undo(json.loads(rows[0][0]), row[0], row[1])

    texts_as_json = json.dumps(texts, ensure_ascii=False)
    with pytest.raises(Undo) as undo:
        await deployment.services.database.write(body)
    assert undo.value.args == (texts, content, 2**62)


class Undo(Exception):
    """Takes what was read out of a transaction that changes nothing."""


async def test_a_taken_id_is_taken_by_its_exact_letters(database: Database) -> None:
    await database.write(adding("Key"))
    await database.write(adding("key"))
    with pytest.raises(Taken):
        await database.write(adding("key"))


async def test_a_reference_to_nothing_is_told_from_a_taken_id(schema: Database) -> None:
    with pytest.raises(MissingReference):
        await insert(schema, stored("a", owner_id="ws-of-nobody"))


async def test_variables_are_listed_by_key_and_then_category(schema: Database) -> None:
    keys = ["b", "B", "ä", "a", "😀", "\uffee", "a-b", "aB"]
    rows = [
        stored(key, id=f"var-{key}-{category}", category=category)
        for key in keys
        for category in Category
    ]
    await insert(schema, *rows)
    found = [(one.key, one.category) for one in await list_(schema)]
    assert found == [(key, c) for key in sorted(keys) for c in (Category.ENV, Category.TOOL)]


async def test_a_variable_comes_back_as_it_was_stored(schema: Database) -> None:
    for number, row in enumerate(
        (
            stored("a", description=" \n'\"😀", category=Category.ENV, hcl=True),
            stored("b", created_at=2**62, version_id="f" * 36),
        )
    ):
        await insert(schema, row)
        shown = row.variable.with_value(f"sealed 1 {row.variable.id}")
        assert (await list_(schema))[number] == shown


async def test_a_list_does_not_fetch_the_sealed_value_of_a_sensitive_variable(
    schema: Database,
) -> None:
    async def one(tx: Transaction) -> StoredVariable:
        lookup, args = variables.getting("ws-1", "var-a")
        return variables.stored(await tx.look_up(lookup, *args))

    await insert(schema, stored("a", sensitive=True), stored("b"))
    assert [one.value for one in await list_(schema)] == [None, "sealed 1 var-b"]
    assert (await schema.read(one)).sealed == Sealed(b"sealed", 1)


@pytest.mark.parametrize("renames", [False, True])
async def test_an_update_without_a_sealed_value_keeps_the_one_that_is_there(
    schema: Database, renames: bool
) -> None:
    """Which need not be the one that whoever makes it has read."""
    after = StoredVariable(stored("b", id="var-a", description="new").variable, None, 6)

    async def update(tx: Transaction) -> None:
        await tx.write_each(variables.updating(after, renames=renames).part)

    await insert(schema, stored("a"))
    await schema.write(update)
    (found,) = await list_(schema)
    assert (found.key, found.description) == ("b" if renames else "a", "new")
    assert found.value == "sealed 1 var-a"


async def test_a_taken_key_is_taken_on_insert_and_on_update(schema: Database) -> None:
    async def rename(tx: Transaction) -> None:
        await tx.write_each(variables.updating(stored("a", id="var-b"), renames=True).part)

    await insert(schema, stored("a"), stored("b"), stored("a", id="e", category=Category.ENV))
    for write in (insert(schema, stored("a", id="other")), schema.write(rename)):
        with pytest.raises(Taken):
            await write


async def test_a_team_comes_back_as_it_was_stored(schema: Database) -> None:
    async def found(tx: Transaction) -> list[Team]:
        return await teams.of_organizations(tx, ["org-1"])

    assert await schema.read(found) == [
        Team("team-1", "org-1", "Acme", Visibility.SECRET, MANAGES, False)
    ]


async def test_an_organization_is_found_however_its_name_is_capitalised(schema: Database) -> None:
    async def find(tx: Transaction) -> object:
        return [await organizations.find_all(tx, [name]) for name in ("acme", "ACME", "acm")]

    found = {"acme": Organization("org-1", "Acme", None, 1)}
    assert await schema.read(find) == [found, found, {}]


async def test_users_are_found_by_folded_names_and_never_share_one(schema: Database) -> None:
    async def body(tx: Transaction) -> dict[str, User]:
        return await users.find_all(tx, ["ALICE", "bob", "nobody"])

    def inserting(id_: str, name: str, email: str | None) -> Any:
        async def body(tx: Transaction) -> None:
            await tx.write_each(tables.inserting(User(id_, name, email, True), 1).part)

        return body

    await schema.write(inserting("user-1", "Alice", "A@example.com"))
    await schema.write(inserting("user-2", "bob", None))
    assert await schema.read(body) == {
        "alice": User("user-1", "Alice", "A@example.com", True),
        "bob": User("user-2", "bob", None, True),
    }
    for name, email in (("aLiCe", None), ("other", "a@EXAMPLE.com")):
        with pytest.raises(Taken):
            await schema.write(inserting("user-3", name, email))


async def test_locking_a_stream_that_is_missing_is_refused_as_not_found(schema: Database) -> None:
    async def lock(tx: Transaction) -> object:
        return await streams.lock(tx, ["ws-1", "ws-of-nobody"])

    with pytest.raises(Refusal) as refusal:
        await schema.write(lock)
    assert words(refusal.value) == ["not_found"]
