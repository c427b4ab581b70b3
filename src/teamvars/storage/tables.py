"""Which columns the records of each kind have, and the statements that write them."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import structlog

from teamvars.domain.access import WrappedKey
from teamvars.domain.client_settings import Settings, Values
from teamvars.domain.invitations import Invitation
from teamvars.domain.keys import REWRAP_ID, Generation, NotedKey, NotedServerKey, Rewrap
from teamvars.domain.logins import Login
from teamvars.domain.memberships import Membership
from teamvars.domain.names import fold
from teamvars.domain.notices import Memo
from teamvars.domain.organizations import Founded, Organization
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.projects import Project
from teamvars.domain.runners import Approval, Runner
from teamvars.domain.sign_ins import Identity, Session
from teamvars.domain.tags import ProjectTagRow, TagRow
from teamvars.domain.team_access import Grant
from teamvars.domain.teams import Right, Team
from teamvars.domain.tokens import HashedToken, TokenLimit
from teamvars.domain.users import User
from teamvars.domain.variable_sets import Target, VariableSet
from teamvars.domain.workspaces import WorkspaceRecord
from teamvars.storage.database import Statement, each
from teamvars.storage.pages import Reading

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode

log = structlog.get_logger("teamvars")

Record = msgspec.Struct
R = TypeVar("R", bound=Record)


def from_column(settings: Settings, row: str, stored: str) -> Values:
    """The settings that a column has, but for what this release does not know.

    Of what cannot be read, those that protect are taken to do so.
    """
    if stored == "{}":
        return {}
    try:
        return settings.known(_decode(stored))
    except (msgspec.DecodeError, RecursionError):
        log.warning("stored settings cannot be read", row=row)
        return settings.unread(settings.by_name.keys())


class Table(msgspec.Struct, frozen=True):
    """Where records of a kind are stored: each column, with what it has of a record.

    `is_dated`: a column says when the row was made. `is_long`: many rows may go with one.
    `carried`: columns that rows of another table have as well, and so change with. `later`: columns
    that are NULL in a new row, which has nothing for them yet.
    """

    name: str
    columns: Mapping[str, Callable[[Any], object]] = {}
    key: str = "id"
    is_dated: bool = False
    is_long: bool = False
    carried: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


def _columns(
    attributes: str, **others: Callable[[Any], object]
) -> Mapping[str, Callable[[Any], object]]:
    """The columns of attributes, whose names are the last parts of theirs, and others.

    A `_folded` one has the form in which names are compared.
    """
    return {path.rpartition(".")[2]: _column(path) for path in attributes.split()} | others


def _column(path: str) -> Callable[[Any], object]:
    read: Callable[[Any], Any] = attrgetter(path.removesuffix("_folded"))
    if not path.endswith("_folded"):
        return lambda record: _stored(read(record))
    return lambda record: None if read(record) is None else fold(read(record))


def _stored(value: object) -> object:
    if isinstance(value, Mapping):  # settings, those that are no defaults
        return _encode(value).decode()
    return int(value) if isinstance(value, int) else value  # flags and levels


def _has_right(right: Right, team: Team) -> int:
    return int(right in team.rights)


def _owner(kind: str) -> Callable[[Any], object]:
    return lambda made: made.token.owner_id if made.token.owner_kind == kind else None


def listed(reach: frozenset[str] | None) -> str | None:
    """What is stored of where a token has rights."""
    return None if reach is None else " ".join(sorted(reach))


_OF_APPROVAL: Mapping[str, Callable[[Approval], object]] = {
    "approved_version": attrgetter("version"),
    "approved_body": lambda approval: approval.spec.encode(),
    "approved_reach": lambda approval: json.dumps(sorted(approval.reach)),
    "approved_issuer": attrgetter("issuer"),
    "approved_mode": attrgetter("mode"),
    "approved_at": attrgetter("approved_at"),
    "approved_by": attrgetter("approved_by"),
    "approval_key_id": attrgetter("key_id"),
    "approval_mac": attrgetter("mac"),
}
"""The columns that are NULL where nothing is approved, with what they have of an approval."""


def _approved(column: str, runner: Runner) -> object:
    return None if runner.approval is None else _OF_APPROVAL[column](runner.approval)


TABLES: Mapping[type[Record], Table] = {
    Organization: Table(
        "organizations",
        _columns("id name name_folded email email_folded created_at sso_required settings"),
        is_long=True,
    ),
    Founded: Table(
        "organizations",
        _columns(
            "organization.id organization.name organization.name_folded organization.email "
            "organization.email_folded organization.created_at organization.sso_required "
            "organization.settings",
            data_key_version=attrgetter("generation"),
        ),
    ),
    WrappedKey: Table(
        "data_keys", _columns("organization_id version master_key_id wrapped"), is_dated=True
    ),
    NotedKey: Table(
        "keyring_keys",
        _columns("id purpose check_value created_at activated_at retired_at"),
        later=("retired_at",),
    ),
    NotedServerKey: Table(
        "server_keys",
        _columns("id check_value created_at activated_at retired_at"),
        later=("retired_at",),
    ),
    Generation: Table(
        "data_key_generations",
        _columns("version created_at activated_at retired_at"),
        key="version",
        later=("activated_at", "retired_at"),
    ),
    Rewrap: Table(
        "rewraps",
        _columns("holder held_until generation part after done", id=lambda _: REWRAP_ID),
        key="holder",
    ),
    User: Table(
        "users",
        _columns("id username username_folded email email_folded site_admin placeholder disabled"),
        is_dated=True,
    ),
    Membership: Table(
        "memberships",
        _columns(
            "id organization_id status invited_as invited_as_folded created_at",
            user_id=attrgetter("user.id"),
        ),
    ),
    Invitation: Table("invitations", key="membership_id"),
    Team: Table(
        "teams",
        _columns(
            "id organization_id name name_folded visibility is_owners members_manage_token "
            "settings",
            **{right.replace("-", "_"): partial(_has_right, right) for right in Right},
        ),
        is_dated=True,
    ),
    Grant: Table(
        "grants",
        _columns("id organization_id team_id workspace_id access level custom"),
    ),
    WorkspaceRecord: Table(
        "workspaces",
        _columns(
            "workspace.id workspace.organization_id workspace.name workspace.name_folded "
            "settings.terraform_version locked_by project_id",
            execution_mode=lambda record: record.settings.own_mode,
            settings=_column("settings.others"),
        ),
        is_dated=True,
        is_long=True,
        carried=("name_folded",),
    ),
    VariableSet: Table(
        "variable_sets",
        _columns(
            "id organization_id name name_folded description scope created_at project_id",
            priority=lambda one: int(one.is_priority),
        ),
        is_long=True,
        carried=("scope",),
    ),
    Target: Table("set_targets", _columns("id set_id target_id workspace_id project_id")),
    ProjectGrant: Table(
        "project_grants",
        _columns("id organization_id team_id project_id access level set_level custom"),
    ),
    Project: Table(
        "projects",
        _columns("id organization_id name name_folded created_at settings"),
    ),
    ProjectTagRow: Table("project_tags", _columns("id project_id key key_folded value")),
    TagRow: Table("workspace_tags", _columns("id workspace_id tag_id key key_folded value")),
    Runner: Table(
        "runners",
        _columns(
            "id organization_id spec.name spec.name_folded version created_at proposed_by",
            body=lambda runner: runner.spec.encode(),
            **{name: partial(_approved, name) for name in _OF_APPROVAL},
        ),
        later=tuple(_OF_APPROVAL),
    ),
    TokenLimit: Table(
        "token_limits", _columns("id organization_id kind max_ttl_ms created_at updated_at")
    ),
    HashedToken: Table(
        "tokens",
        _columns(
            "token.id hash token.created_at token.expires_at token.description token.created_by "
            "token.provider token.sid",
            reach=lambda made: listed(made.token.reach),
            **{f"{kind}_id": _owner(kind) for kind in ("user", "team", "organization")},
        ),
    ),
    Identity: Table("identities", _columns("id issuer subject user_id created_at")),
    Memo: Table("memos", _columns("id address subject text due_at page")),
    Login: Table(
        "logins",
        _columns(
            "id code_hash host lifetime created_at expires_at challenge redirect user_code address "
            "network polled_at denied token_id ends_at issued_id"
        ),
    ),
    Session: Table(
        "sessions", _columns("token_id cookie_hash provider ends_at longest"), key="token_id"
    ),
}


def reading(kind: type[R]) -> Reading[R]:
    """How records are read that have a field for each column, in their order."""
    table = TABLES[kind]
    return Reading(", ".join(table.columns), table.name, lambda row: kind(*row))


def inserting(record: Record, now: int) -> Statement:
    """The statement that adds a record, made `now`. Raises Taken."""
    table = TABLES[type(record)]
    row = _row(table, record) | ({"created_at": now} if table.is_dated else {})
    for name in table.later:
        assert row.pop(name) is None
    places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
    sql = f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({places})"
    return Statement(sql, tuple(row.values()))


def updating(before: Record, after: Record) -> Statement:
    """The statement that stores what of a record is another than before. Raises Taken."""
    table = TABLES[type(after)]
    former, row = _row(table, before), _row(table, after)
    names = [name for name in row if row[name] != former[name]]
    settings = ", ".join(f"{name} = ${n}" for n, name in enumerate(names, start=2))
    sql = f"UPDATE {table.name} SET {settings} WHERE {table.key} = $1"
    is_long = any(name in table.carried for name in names)
    return Statement(sql, (row[table.key], *(row[name] for name in names)), is_long)


def deleting(kind: type[Record], keys: Sequence[str]) -> Statement:
    """The statement that removes records with all that belongs to them."""
    table = TABLES[kind]
    sql = f"DELETE FROM {table.name} WHERE {table.key} IN {{each $1}}"
    return Statement(sql, (each(keys),), table.is_long)


def _row(table: Table, record: Record) -> dict[str, object]:
    return {name: read(record) for name, read in table.columns.items()}
