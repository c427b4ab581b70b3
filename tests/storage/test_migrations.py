"""The schema: brought once, by whichever node comes first, and refused when it is another's."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from teamvars.domain.names import fold
from teamvars.storage import installation, migrations, users
from teamvars.storage.database import (
    Body,
    Database,
    Fragments,
    MissingReference,
    MissingTable,
    Taken,
    Transaction,
)
from teamvars.storage.engines import schemas
from teamvars.storage.engines.schemas import SchemaMismatch
from teamvars.storage.migrations import Migration
from tests.storage.stores import bring_up, opened, words


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[Database]:
    async with opened(empty_url) as database:
        yield database


async def pending(database: Database) -> list[Migration]:
    there = await database.read(schemas.schema)
    schemas.check(there)
    return schemas.missing(there)


async def test_an_empty_store_lacks_every_migration(empty: Database) -> None:
    assert await empty.read(schemas.schema) == {}
    assert await pending(empty) == list(migrations.known())


async def test_migrating_applies_what_is_missing_and_a_second_time_nothing(
    empty: Database,
) -> None:
    assert await bring_up(empty) == list(migrations.known())
    before = await empty.read(schemas.schema)
    assert await bring_up(empty) == []
    assert await empty.read(schemas.schema) == before
    assert await pending(empty) == []


async def test_nodes_that_migrate_at_once_apply_each_migration_once(empty_url: str) -> None:
    async with opened(empty_url) as one, opened(empty_url) as other:
        nodes = (one, other, one, other)
        applied = await asyncio.gather(*(bring_up(node) for node in nodes))
        done = [migration for each in applied for migration in each]
        assert sorted(done, key=lambda one: one.number) == list(migrations.known())
        assert await pending(one) == await pending(other) == []


async def test_a_migration_that_is_not_the_one_of_this_release_is_refused(
    empty: Database,
) -> None:
    async def alter(tx: Transaction) -> None:
        await tx.execute("UPDATE schema_migrations SET checksum = 'another' WHERE number = 1")

    await bring_up(empty)
    await empty.write(alter)
    with pytest.raises(SchemaMismatch, match="Migration 1 "):
        await pending(empty)
    with pytest.raises(SchemaMismatch, match="Migration 1 "):
        await bring_up(empty)


async def test_whoever_was_only_invited_before_is_a_placeholder_and_nobody_else(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = migrations.known()
    ids = {name: f"user-{name:0>16}" for name in ("operators", "invited", "revoked", "named")}

    async def before(tx: Transaction) -> None:
        details = {"token.create": '{"expires-at":null,"owner":"user %s"}'}
        entered = [
            ("user.create", "operator", ids["operators"]),
            *(("user.create", "user", ids[name]) for name in ("invited", "revoked", "named")),
            ("token.create", "operator", ids["revoked"]),
            ("user.update", "operator", ids["named"]),
        ]
        for number, (action, kind, id_) in enumerate(entered, start=1):
            await tx.execute(
                "INSERT INTO audit_entries VALUES ('system', $1, 0, $2, 'a', NULL, 'r', $3, 's', "
                "$4, $5, 'k', $6, $6)",
                number,
                kind,
                action,
                "at-1" if action == "token.create" else id_,
                details.get(action, "%s") % id_,
                b"",
            )
        await tx.execute(
            "INSERT INTO streams (id, sequence, link, head) VALUES ('org-1', 0, $1, $1)", b""
        )
        await tx.execute(
            "INSERT INTO organizations (id, name, name_folded, data_key_version, created_at) "
            "VALUES ('org-1', 'o', 'o', 1, 0)"
        )
        for name, id_ in ids.items():
            await tx.execute(
                "INSERT INTO users VALUES ($1, $2, $2, $3, $4, 0, 0)", id_, name, f"{name}@B", name
            )
            await tx.execute(
                "INSERT INTO memberships VALUES ($1, 'org-1', $2, 'invited', 0)", f"ou-{name}", id_
            )

    async def after(tx: Transaction) -> object:
        rows = await tx.fetch("SELECT username FROM users WHERE placeholder = 1")
        shown = await tx.fetch("SELECT invited_as FROM memberships ORDER BY id")
        return [row[0] for row in rows], [row[0] for row in shown]

    with monkeypatch.context() as released:
        released.setattr(migrations, "known", lambda: [first])
        await bring_up(empty)
    await empty.migrate(before)
    await bring_up(empty)
    assert await empty.read(after) == (["invited"], [f"{name}@B" for name in sorted(ids)])


def running(sql: str) -> Body[None]:
    """What runs that statement."""

    async def body(tx: Transaction) -> None:
        await tx.execute(sql)

    return body


async def test_every_variable_stays_as_it_was_and_gets_its_place_in_the_organization(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (
        "id, workspace_id, key, category, description, hcl, sensitive, sealed_value, value_bytes, "
        "version_id, created_at"
    )

    async def before(tx: Transaction) -> None:
        for id_ in ("org-1", "ws-1", "ws-2"):
            await tx.execute("INSERT INTO streams VALUES ($1, 0, $2, $2, 0, 0)", id_, b"")
        await tx.execute(
            "INSERT INTO organizations (id, name, name_folded, data_key_version, created_at) "
            "VALUES ('org-1', 'O', 'o', 1, 0)"
        )
        for id_, name in (("ws-1", "Zoo"), ("ws-2", "Ant")):
            await tx.execute(
                "INSERT INTO workspaces (id, organization_id, name, name_folded, created_at) "
                "VALUES ($1, 'org-1', $2, $3, 0)",
                id_,
                name,
                fold(name),
            )
        for n in range(6):
            await tx.execute(
                f"INSERT INTO variables ({columns}) VALUES "  # noqa: S608
                "($1, $2, $3, $4, 'd', 0, 1, $5, 3, 'v', 7)",
                f"var-{n}",
                f"ws-{1 + n % 2}",
                f"key-{n // 4}",
                ("tool", "env")[n // 2 % 2],
                bytes([n]) * n,
            )

    async def rows(tx: Transaction) -> list[list[object]]:
        sql = f"SELECT {columns} FROM variables ORDER BY id"  # noqa: S608
        return [list(row) for row in await tx.fetch(sql)]

    async def places(tx: Transaction) -> list[tuple[object, ...]]:
        sql = "SELECT organization_id, workspace_name FROM variables ORDER BY id"
        return [tuple(row) for row in await tx.fetch(sql)]

    with monkeypatch.context() as released:
        first = migrations.known()[:8]
        released.setattr(migrations, "known", lambda: first)
        await bring_up(empty)
    await empty.migrate(before)
    kept = await empty.read(rows)
    await bring_up(empty)
    assert await empty.read(rows) == kept
    assert await empty.read(places) == [("org-1", "zoo"), ("org-1", "ant")] * 3
    with pytest.raises(Taken):
        await empty.write(running("UPDATE variables SET key = 'key-0', category = 'tool'"))
    with pytest.raises(MissingReference):
        await empty.write(running("UPDATE variables SET workspace_name = 'other'"))
    await empty.write(running("UPDATE workspaces SET name_folded = 'bee' WHERE id = 'ws-1'"))
    assert await empty.read(places) == [("org-1", "bee"), ("org-1", "ant")] * 3
    await empty.write(running("DELETE FROM workspaces WHERE id = 'ws-1'"))
    assert await empty.read(places) == [("org-1", "ant")] * 3


async def test_answers_that_may_show_a_value_are_kept_no_longer(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def before(tx: Transaction) -> None:
        for name, size in (("token", 90), ("variable", 500)):
            await tx.execute(
                "INSERT INTO idempotency_records "
                "(name, principal, key_id, fingerprint, bytes, expires_at, answer) "
                "VALUES ($1, 'user-1', 'mk', $2, $3, 1, $4)",
                name,
                b"",
                size,
                bytes(size),
            )

    async def names(tx: Transaction) -> list[object]:
        return [row[0] for row in await tx.fetch("SELECT name FROM idempotency_records")]

    with monkeypatch.context() as older:
        first = migrations.known()[:11]
        older.setattr(migrations, "known", lambda: first)
        await bring_up(empty)
    await empty.migrate(before)
    await bring_up(empty)
    assert await empty.read(names) == ["token"]


async def test_a_store_and_every_older_copy_of_it_get_one_lineage(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def before(tx: Transaction) -> None:
        for id_, at in (("mk-later", 1764000000000001), ("mk-b", 17), ("ak-c", 17)):
            await tx.execute("INSERT INTO keyring_keys VALUES ($1, 'master', $2, $3)", id_, b"", at)

    number = next(one.number for one in migrations.known() if one.name == "lineage")
    with monkeypatch.context() as older:
        first = migrations.known()[: number - 1]
        older.setattr(migrations, "known", lambda: first)
        await bring_up(empty)
    assert await empty.read(installation.find_lineage) is None
    await empty.migrate(before)
    await bring_up(empty)
    assert await empty.read(installation.find_lineage) == "store-c-17"
    await empty.write(lambda tx: installation.begin_lineage(tx, "store-other"))
    assert await empty.read(installation.find_lineage) == "store-c-17"
    with pytest.raises(Taken):
        await empty.write(running("INSERT INTO lineage (id) VALUES ('store-other')"))


@pytest.mark.parametrize(
    "cut",
    [
        "DROP TABLE schema_migrations",
        "DELETE FROM schema_migrations",
        "DELETE FROM schema_migrations WHERE number > 3",
        "DELETE FROM schema_migrations WHERE number > 7",
    ],
)
async def test_a_part_of_a_store_is_told_from_an_empty_one(empty: Database, cut: str) -> None:
    await bring_up(empty)
    await empty.write(running(cut))
    left = await empty.read(schemas.schema)
    with pytest.raises(SchemaMismatch, match="holds a part of a store"):
        await bring_up(empty)
    assert await empty.read(schemas.schema) == left
    if not left:
        with pytest.raises(SchemaMismatch, match="holds a part of a store"):
            await empty.read(schemas.require_whole)


async def test_a_migration_that_fails_half_way_leaves_nothing_behind(empty: Database) -> None:
    async def in_the_way(tx: Transaction) -> None:
        await tx.script("CREATE TABLE variables (id BIGINT)")

    async def keys(tx: Transaction) -> object:
        return await tx.fetch("SELECT id FROM keyring_keys")

    await empty.migrate(in_the_way)
    with pytest.raises(SchemaMismatch, match="holds a part of a store"):
        await bring_up(empty)
    assert await empty.read(schemas.schema) == {}
    with pytest.raises(MissingTable):
        await empty.read(keys)


async def test_who_needs_a_table_that_is_not_there_is_told_that_storage_is_unavailable(
    empty: Database,
) -> None:
    async def tokens(tx: Transaction) -> object:
        return await tx.fetch("SELECT id FROM tokens")

    for asking in (empty.read(tokens), empty.write(tokens)):
        with pytest.raises(MissingTable) as refusal:
            await asking
        assert words(refusal.value) == ["storage_unavailable"]


def test_migrations_are_numbered_without_a_gap_and_named() -> None:
    known = migrations.known()
    assert [migration.number for migration in known] == list(range(1, len(known) + 1))
    assert all(migration.name and migration.sql.strip() for migration in known)
    assert len({migration.checksum for migration in known}) == len(known)


LAST_BEFORE_THE_FORM = 11
RELEASED = (1, 16)
"""The newest migration of each release: 0.1.0, 0.2.0."""


def test_a_migration_says_whom_it_admits_and_what_it_means_to_who_does_not_know_it() -> None:
    for migration in migrations.known()[LAST_BEFORE_THE_FORM:]:
        kind = "contract" if migration.is_contract else "expand"
        assert migration.sql.startswith(f"-- {kind}, admits {migration.admits}: "), migration.name
        before = max(number for number in RELEASED if number < migration.number)
        most = migration.number if migration.is_contract else before
        assert migration.admits <= most, f"{migration.name} admits at most {most}: see `RELEASED`"


def test_what_a_release_needs_is_a_script_and_what_it_takes_away_is_one_that_comes_last() -> None:
    for migration in migrations.known():
        scripts = [at for at, step in enumerate(migration.steps) if isinstance(step, str)]
        assert scripts == [len(migration.steps) - 1 if migration.is_contract else 0]


def test_fragments_take_the_place_of_their_markers_and_of_nothing_else() -> None:
    lists = {"each": r"E(\1)", "texts": r"F(\1)"}
    said = {"lock": r"L(\1)", **lists, "encoded": r"R(\1)", "hex": r"H(\1)"}
    fragments = Fragments({"text": "T", "bytes": "B", **said})
    sql = "{text} {bytes} {lock streams} IN {each $12} {texts $1} {encoded f.g} {hex h.i} {no} $1"
    assert fragments.render(sql) == "T B L(streams) E($12) F($1) R(f.g) H(h.i) {no} $1"


async def test_addresses_that_were_told_apart_before_still_are_and_are_found_by_the_new_rule(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    emails = ["Plain@Example.com", "Straße@Example.com", "ÉLAN@example.com", "ABCXYZ@x.y", None]

    async def as_in_0_1_0(tx: Transaction) -> None:
        for number, email in enumerate(emails):
            folded = None if email is None else email.casefold()
            await tx.execute(
                "INSERT INTO users (id, username, username_folded, email, email_folded, "
                "site_admin, created_at) VALUES ($1, $1, $1, $2, $3, 0, 0)",
                f"user-{number}",
                email,
                folded,
            )

    async def folded(tx: Transaction) -> list[str | None]:
        rows = await tx.fetch("SELECT email_folded FROM users ORDER BY id")
        return [row[0] for row in rows]

    with monkeypatch.context() as released:
        first = migrations.known()[:1]
        released.setattr(migrations, "known", lambda: first)
        await bring_up(empty)
    await empty.migrate(as_in_0_1_0)
    await bring_up(empty)
    found = await empty.read(folded)
    assert found == [None if email is None else fold(email) for email in emails]
    assert found[1] == "straße@example.com"
    assert await empty.read(lambda tx: users.find_all_by_email(tx, ["STRAßE@example.com"]))
    assert not await empty.read(lambda tx: users.find_all_by_email(tx, ["strasse@example.com"]))
