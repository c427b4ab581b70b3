"""Runners as rows, the tokens of their jobs, and what was handed out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from teamvars.domain.access import WrappedKey
from teamvars.domain.audit import Stream
from teamvars.domain.deliveries import (
    Earlier,
    HandedVariable,
    JobToken,
    LastDelivery,
    Receipt,
    ReceiptSearch,
)
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.runners import NO_APPROVAL, Approval, Runner, RunnerSpec, unreadable
from teamvars.domain.workspaces import Workspace
from teamvars.storage.access_statements import IN_USE
from teamvars.storage.database import Lookup, Row, Statement, Transaction, decoded, each
from teamvars.storage.pages import Reading, where
from teamvars.storage.projects import TARGETS_OF
from teamvars.storage.streams import PLACE, also_held, has_proposed, to_stream

# SQLite lets a column hold what is not of its type, and texts that are no UTF-8.
_COLUMNS = """{encoded runners.id}, {encoded runners.organization_id}, {encoded runners.name},
    CAST(runners.version AS BIGINT), {encoded runners.body}, CAST(runners.created_at AS BIGINT),
    {encoded runners.proposed_by}, CAST(runners.approved_version AS BIGINT),
    {encoded runners.approved_body}, {encoded runners.approved_reach},
    {encoded runners.approved_issuer}, {encoded runners.approved_mode},
    CAST(runners.approved_at AS BIGINT),
    {encoded runners.approved_by}, {encoded runners.approval_key_id},
    CAST(runners.approval_mac AS {bytes})"""
_TOKEN = (
    "hash, runner_id, version, workspace_id, thumbprint, is_bound, claims, run_link, expires_at, "
    "key_id, mac"
)
_READ_TOKEN = """CAST(token.hash AS {bytes}), {encoded token.runner_id},
    CAST(token.version AS BIGINT), {encoded token.workspace_id}, {encoded token.thumbprint},
    CAST(token.is_bound AS BIGINT), {encoded token.claims}, {encoded token.run_link},
    CAST(token.expires_at AS BIGINT), {encoded token.key_id}, CAST(token.mac AS {bytes})"""
_APPROVED = Approval.__struct_fields__
_OF_TOKEN = len(_TOKEN.split(", "))
_ROWS_READ = 64
"""That are not read again while they are the same: most jobs are of few runners."""
_VERSIONS = msgspec.json.Decoder(dict[str, str | Earlier])
_DELIVERY = "runner_id, workspace_id, organization_id, at, versions, run_link"
_READ_DELIVERY = """{encoded runner_deliveries.runner_id}, {encoded runner_deliveries.workspace_id},
    {encoded runner_deliveries.organization_id}, CAST(runner_deliveries.at AS BIGINT),
    {encoded runner_deliveries.versions}, {encoded runner_deliveries.run_link}"""
_OF_DELIVERY = len(_DELIVERY.split(", "))

_OF_CALLER = {"hash": "BYTEA", "now": "BIGINT", "workspace_id": "TEXT", "places": "TEXT"}
# How many streams there are of a workspace and of the sets that reach it; NULL where one is at none
# of the places that are asked for.
_REACHING_THERE = f"""(
        SELECT CASE WHEN count(*) = sum(
            CASE WHEN its.id || ':' || {{hex its.head}} IN {{each $4}}
                THEN 1 ELSE 0 END
        ) THEN count(*) END
        FROM (
            SELECT workspaces.id AS id
            UNION
            SELECT set_targets.set_id FROM set_targets
            WHERE set_targets.target_id
                IN {TARGETS_OF}
        ) AS reaching
        JOIN streams AS its ON its.id = reaching.id
    )"""


# A token is found by its hash. A workspace may have thousands of them, and while PostgreSQL has no
# statistics yet, it would go through these instead, in the order of an index: not of an expression.
def _handed(is_held: str, lock: str) -> Lookup:
    single = f"""
SELECT {_READ_TOKEN}, {_COLUMNS},
    workspaces.id AS workspace, workspaces.name, organizations.id AS organization,
    organizations.name AS organization_name,
    data_keys.version AS key_version, data_keys.master_key_id, data_keys.wrapped,
    {_REACHING_THERE} AS reaching, CAST(last.at AS BIGINT) AS last_at,
    {{encoded last.versions}} AS last_versions, {{encoded last.run_link}} AS last_run_link,
    {PLACE}{is_held}
FROM runner_tokens AS token
JOIN runners ON runners.id = token.runner_id
JOIN streams ON streams.id = runners.id
JOIN workspaces ON workspaces.id = token.workspace_id
JOIN organizations ON organizations.id = workspaces.organization_id
JOIN data_keys ON {IN_USE}
LEFT JOIN runner_deliveries AS last
    ON last.runner_id = token.runner_id AND last.workspace_id = token.workspace_id{lock}
WHERE token.hash = $1 AND token.expires_at > $2 AND token.workspace_id || '' = $3
"""
    return Lookup.joining(single, "runner_tokens", **_OF_CALLER)


HANDED = also_held(_handed)

# $2: what names an issuer's token. Of runners that were not approved for the workspace nothing is
# read: an organization may have a hundred, each with hundreds of workspaces.
REACHING = Lookup.of(
    f"""
SELECT workspaces.id AS workspace, workspaces.name, organizations.id AS organization,
    organizations.name AS organization_name,
    (SELECT count(*) FROM used_assertions WHERE used_assertions.hash = $2) AS uses, {_COLUMNS}
FROM workspaces
JOIN organizations ON organizations.id = workspaces.organization_id
LEFT JOIN runners ON runners.organization_id = organizations.id
    AND replace(runners.approved_reach, '"' || workspaces.id || '"', '') <> runners.approved_reach
WHERE workspaces.id = $1
ORDER BY runners.id
""",
    "TEXT",
    "BYTEA",
)

# `~` is behind all that a name may have. CROSS JOIN: else SQLite goes through all names.
_REACH = """
SELECT id FROM workspaces WHERE organization_id = $1 AND id IN {each $2}
UNION ALL SELECT id FROM workspaces WHERE organization_id = $1 AND name_folded IN {each $3}
UNION ALL SELECT workspaces.id FROM {texts $4} AS its CROSS JOIN workspaces
WHERE workspaces.organization_id = $1
    AND workspaces.name_folded >= its.value AND workspaces.name_folded < its.value || '~'
"""
# One text: as rows, fifty thousand hold up the event loop for several times as long.
_NAMES = """
SELECT string_agg(its.name_folded, ' ') FROM (
    SELECT name_folded FROM workspaces WHERE organization_id = $1 ORDER BY name_folded
) AS its
"""

_PLACES = ", ".join(f"${n}" for n in range(1, _OF_TOKEN + 1))
_ISSUED = f"INSERT INTO runner_tokens ({_TOKEN}) VALUES ({_PLACES})"
DELIVERED = f"""
INSERT INTO runner_deliveries ({_DELIVERY}) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (runner_id, workspace_id) DO UPDATE SET
    at = excluded.at, versions = excluded.versions, run_link = excluded.run_link
"""


async def get(tx: Transaction, runner_id: str) -> Runner:
    """One runner. Refuses: not found."""
    return await _RUNNERS.get(tx, "WHERE id = $1", runner_id)


async def of_organization(tx: Transaction, organization_id: str) -> list[Runner]:
    """All of an organization, by id."""
    return await _RUNNERS.every(tx, "WHERE organization_id = $1 ORDER BY id", organization_id)


async def proposed_by(tx: Transaction, organization_id: str, user_id: str) -> list[Runner]:
    """Those of an organization whose version somebody proposed, by id; and those of machines of
    which they proposed any, as the trail says: the machine may be theirs.
    """
    any_ = has_proposed("$2")
    rest = f"WHERE organization_id = $1 AND (proposed_by = $2 OR {any_}) ORDER BY id"
    found = await _RUNNERS.every(tx, rest, organization_id, user_id)
    return [one for one in found if one.proposed_by == user_id or one.spec.public_key is not None]


async def of_organizations(tx: Transaction, organization_ids: Iterable[str]) -> list[Runner]:
    """All of these organizations, by id."""
    rest = "WHERE organization_id IN {each $1} ORDER BY id"
    return await _RUNNERS.every(tx, rest, each(organization_ids))


async def every(tx: Transaction) -> list[Runner]:
    """All there are, by organization and id, but not those that somebody has put into none: what
    such a row says is nobody's.
    """
    rest = "WHERE organization_id IN (SELECT id FROM organizations) ORDER BY organization_id, id"
    return await _RUNNERS.every(tx, rest)


async def page_of_organization(tx: Transaction, organization_id: str, page: Page) -> Paged[Runner]:
    """A page of an organization's, by name."""
    rest = "WHERE organization_id = $1"
    return await _RUNNERS.paged(tx, rest, "name_folded, id", [organization_id], page)


async def reach(
    tx: Transaction, organization_id: str, workspace_ids: Iterable[str], patterns: Sequence[str]
) -> frozenset[str]:
    """The ids of an organization's workspaces that have one of these ids, or a name that one of the
    patterns matches: each is a name, or with a `*` at its end the beginning of some.
    """
    folded = [fold(pattern) for pattern in patterns]
    beginnings = [one.removesuffix("*") for one in folded if one.endswith("*")]
    where = organization_id, each(workspace_ids), each(folded), each(beginnings)
    return frozenset(await tx.column(_REACH, *where))


async def names(tx: Transaction, organization_id: str) -> str:
    """The names of an organization's workspaces, folded and in order, with a blank between two."""
    (found,) = await tx.column(_NAMES, organization_id)
    return found or ""


def reached(rows: Sequence[Row]) -> tuple[Workspace, Sequence[Runner], bool] | None:
    """Of rows of `REACHING`: a workspace, if there is one, the runners that were approved for it by
    id, and whether that token of an issuer was used.
    """
    if not rows:
        return None
    id_, name, owner_id, owner, uses = rows[0][:5]
    found = [to_runner(row[5:]) for row in rows if row[5] is not None]
    return Workspace(id_, name, owner_id, owner), found, uses > 0


def handed(
    rows: Sequence[Row],
) -> tuple[JobToken, Runner, Workspace, WrappedKey, int | None, LastDelivery | None, Stream] | None:
    """Of a row of `HANDED`: what the token with that hash is for, unless it has expired or is for
    another workspace; the data key of the values; how many streams reach the workspace, if they are
    where they should be; the last delivery there, if there was one; and the runner's stream.
    """
    if not rows:
        return None
    (row,) = rows
    token, runner = to_token(row[:_OF_TOKEN]), to_runner(row[_OF_TOKEN:-16])
    if token is None:
        return None
    id_, name, owner_id, owner, *key, reaching = row[-16:-8]
    at, *said = map(decoded, row[-8:-5])
    last = None if at is None else _last((runner.id, id_, owner_id), at, *said)
    stream = to_stream((runner.id, owner_id, *row[-5:]))
    workspace = Workspace(id_, name, owner_id, owner)
    return token, runner, workspace, WrappedKey(owner_id, *key), reaching, last, stream


def issuing(token: JobToken) -> Statement:
    """Stores a token of a job."""
    claims = json.dumps(token.claims, ensure_ascii=False)
    row = *msgspec.structs.astuple(token)[:5], int(token.is_bound), claims
    return Statement(_ISSUED, (*row, token.run_link, token.expires_at, token.key_id, token.mac))


def using(hash_: bytes, expires_at: int) -> Statement:
    """Stores that an issuer's token was used. Raises Taken if it was before."""
    sql = "INSERT INTO used_assertions (hash, expires_at) VALUES ($1, $2)"
    return Statement(sql, (hash_, expires_at))


async def was_used(tx: Transaction, hash_: bytes) -> bool:
    """Whether an issuer's token was used."""
    return await tx.count("SELECT count(*) FROM used_assertions WHERE hash = $1", hash_) > 0


def delivering(delivery: LastDelivery) -> Statement:
    """Stores the last delivery of a workspace to a runner."""
    place = delivery.runner_id, delivery.workspace_id, delivery.organization_id
    # What was handed out earlier has its time and run beside its version.
    versions = msgspec.json.encode({**delivery.earlier, **delivery.versions}).decode()
    return Statement(DELIVERED, (*place, delivery.at, versions, delivery.run_link))


async def page_of_deliveries(
    tx: Transaction,
    organization_id: str,
    search: ReceiptSearch,
    page: Page,
    workspace_id: str | None = None,
) -> Paged[Receipt]:
    """A page of the last deliveries of an organization, or of one workspace of it, newest first."""
    of = "runner_deliveries"
    places = (
        await _meant(tx, "workspaces", organization_id, search.workspace)
        if workspace_id is None
        else each([workspace_id])
    )
    given_to = await _meant(tx, "runners", organization_id, search.runner)
    # The index of the newest is for a page of all: of an expression it finds nothing.
    owner = f"{of}.organization_id" + ("" if places is given_to is None else " || ''")
    conditions, args = where(
        (f"{owner} = $n", organization_id),
        (f"{of}.workspace_id IN {{each $n}}", places),
        (f"{of}.runner_id IN {{each $n}}", given_to),
        (
            f"replace({of}.versions, $n, '') <> {of}.versions",
            None if search.variable is None else json.dumps(search.variable),
        ),
    )
    at = f"{of}.at" if search.variable is None else f"+{of}.at"
    order = f"{at} DESC, {of}.runner_id, {of}.workspace_id"
    return await _RECEIPTS.paged(tx, f"WHERE {conditions}", order, args, page)


async def _meant(tx: Transaction, table: str, organization_id: str, word: str | None) -> str | None:
    """What has that id or that name in an organization, as `each` has it."""
    if word is None:
        return None
    sql = f"SELECT id FROM {table} WHERE organization_id = $1 AND name_folded = $2"
    return each([word, *await tx.column(sql, organization_id, fold(word))])


async def sensitive_among(tx: Transaction, variable_ids: Iterable[str]) -> list[HandedVariable]:
    """Those of these variables, of workspaces or sets, that are sensitive, by key and category."""
    of_table = (
        "SELECT id, key, category, version_id FROM {} WHERE sensitive = 1 AND id IN {{each $1}}"
    )
    both = " UNION ALL ".join(map(of_table.format, ("variables", "set_variables")))
    rows = await tx.fetch(f"{both} ORDER BY key, category", each(variable_ids))
    return [msgspec.convert(tuple(row), HandedVariable) for row in rows]


async def forget_expired(tx: Transaction, before: int, most: int) -> int:
    """Deletes some of what has expired before then, and returns how much."""
    deleted = 0
    for table in ("runner_tokens", "used_assertions"):
        rows = await tx.fetch(
            f"DELETE FROM {table} WHERE hash IN ("
            f"SELECT hash FROM {table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) "
            "RETURNING 1",
            before,
            most,
        )
        deleted += len(rows)
    return deleted


def to_token(row: Row) -> JobToken | None:
    """The token of a row with the columns of `_READ_TOKEN`; None: nobody can read it."""
    hash_, *said, mac = row
    read = dict(zip(_TOKEN.split(", "), (hash_, *map(decoded, said), mac), strict=True))
    try:
        read |= {"is_bound": bool(read["is_bound"]), "claims": json.loads(read["claims"])}
        return msgspec.convert(read, JobToken)
    except (ValueError, TypeError, RecursionError):
        return None


def _to_receipt(row: Row) -> Receipt:
    its = row[_OF_DELIVERY + 1 :]
    *place, at, versions, run_link, workspace = map(decoded, row[: _OF_DELIVERY + 1])
    delivery = _last(place, at, versions, run_link)
    return Receipt(delivery, None if its[0] is None else to_runner(its), workspace)


def _last(place: Sequence[str], at: int, versions: str, run_link: str | None) -> LastDelivery:
    said = _versions(versions)
    last = {id_: one for id_, one in said.items() if isinstance(one, str)}
    earlier = {id_: one for id_, one in said.items() if isinstance(one, Earlier)}
    runner_id, workspace_id, organization_id = place
    return LastDelivery(runner_id, workspace_id, organization_id, at, last, run_link, earlier)


def _versions(text: str) -> Mapping[str, str | Earlier]:
    """The versions by their ids; none where nobody can read them."""
    try:
        return _VERSIONS.decode(text)
    except (ValueError, RecursionError):
        return {}


def to_runner(row: Row) -> Runner:
    """The runner of a row with the columns of `_COLUMNS`; one that nobody can read keeps its name,
    and is approved for nothing.
    """
    return _read(tuple(row))


@lru_cache(_ROWS_READ)
def _read(row: Row) -> Runner:
    *said, mac = row
    id_, organization_id, name, version, body, created_at, by, *approved = map(decoded, said)
    spec = _spec(body) or unreadable(name)
    return Runner(id_, organization_id, version, spec, created_at, by, _approval([*approved, mac]))


def _spec(body: object) -> RunnerSpec | None:
    try:
        return RunnerSpec.decode(body)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError):
        return None


def _approval(row: Sequence[Any]) -> Approval | None:
    """The approval of the columns from `approved_version`, which holds for nothing if nobody can
    read it.
    """
    version, body, reach, *rest = row
    if version is None:
        return None
    said = dict(zip(_APPROVED, (version, _spec(body), reach, *rest), strict=True))
    try:
        return msgspec.convert(said | {"reach": json.loads(said["reach"])}, Approval)
    except (ValueError, TypeError, RecursionError):
        return NO_APPROVAL


_RUNNERS = Reading(_COLUMNS, "runners", to_runner)
_RECEIPTS = Reading(
    f"{_READ_DELIVERY}, {{encoded workspaces.name}}, {_COLUMNS}",
    "runner_deliveries LEFT JOIN runners ON runners.id = runner_deliveries.runner_id "
    "LEFT JOIN workspaces ON workspaces.id = runner_deliveries.workspace_id",
    _to_receipt,
    counted="runner_deliveries",
)
