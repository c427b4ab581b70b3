"""What the benchmark's store holds, and how it gets there: all of it valid, to the last audit link.

A dataset is made once, on SQLite, by the service's own functions; PostgreSQL gets a copy of every
row. So both engines hold the same ids, tokens and sealed values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench import transfer
from bench.transfer import Bulk
from teamvars import settings, wiring
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.directory import Directory, FileAccess, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import Status
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import OWNERS
from teamvars.domain.tokens import OwnerName
from teamvars.security import keyring
from teamvars.services.directory_files.files import Options
from teamvars.storage.database import Transaction
from teamvars.storage.engines import database_for
from tests.support.commands import Host
from tests.support.postgres import Postgres

GROWTH = (20, 100, 500, 1000, 2000, 5000)
SPREAD = [f"spread-{n:02}" for n in range(64)]
"""The workspaces among which work is spread where it is not about one of them."""

_ORGANIZATION, _CALLER = "bench", "runner"
_RECRUITS = [f"recruit-{n}" for n in range(10)]
_CREWS = [f"crew-{n:02}" for n in range(64)]
_NEEDED = {"list-20": 20, "list-500": 500, "hot": 0, "applied": 0, **dict.fromkeys(SPREAD, 20)}
_VARIABLES_EACH = 20


@dataclass(frozen=True, slots=True)
class Size:
    """How much a store holds besides what the work needs; `members` are in every team."""

    workspaces: int
    tokens: int
    members: int


EMPTY = Size(0, 0, 0)
FULL = Size(workspaces=50_000, tokens=100_000, members=1000)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Workspaces by name, one variable of each by the workspace's id, and who and with whom."""

    token: str
    workspaces: Mapping[str, str]
    variables: Mapping[str, str]
    crews: Sequence[str]
    recruits: Sequence[str]


async def build(host: Host, size: Size) -> Dataset:
    """Makes the store of the host, on SQLite, and fills it."""
    host.succeed("init")
    config = settings.load(data_dir=host.data)
    keys = keyring.load(config.keyring_path)
    async with database_for(config.url) as database:
        services = wiring.services(database, keys, config.quota)
        counts = _NEEDED | {f"growth-{n}": n for n in GROWTH}
        counts |= {f"more-{n:05}": _VARIABLES_EACH for n in range(size.workspaces)}
        directory = _directory(tuple(counts), [f"member-{n}" for n in range(size.members)])
        applied = await services.directory.apply(_operator(), directory, Options())
        made = applied.organizations[_ORGANIZATION]

        async def fill(tx: Transaction) -> dict[str, str]:
            bulk = Bulk(tx, keys, _operator())
            await bulk.add_tokens(made.id, size.tokens)
            return await bulk.add_variables(
                {made.workspaces[name]: n for name, n in counts.items()}
            )

        variables = await database.write(fill)
        token = await services.tokens.create(_operator(), OwnerName(user=_CALLER), None)
    return Dataset(
        token=token.secret,
        workspaces=made.workspaces,
        variables=variables,
        crews=[made.teams[name] for name in _CREWS],
        recruits=[applied.users[name] for name in _RECRUITS],
    )


async def copy(host: Host, server: Postgres, database: str) -> Host:
    """Puts the same dataset into a new database; returns the host as it is with that one."""
    server.create_database(database)
    with_postgres = host.having(database_url=server.url(database))
    # Its keyring is for two stores from here on.
    keyring.mark_path(host.data / "keyring.json").unlink(missing_ok=True)
    with_postgres.succeed("migrate", "up")
    await transfer.copy(host.data / "teamvars.db", server.url(database))
    return with_postgres


def _directory(workspaces: tuple[str, ...], crowd: list[str]) -> Directory:
    """One organization, in which the caller is what a pipeline's user would be: no owner, but in a
    team that may write all variables and manage members."""
    everywhere: dict[str, FileAccess] = dict.fromkeys(workspaces, AccessType.WRITE)
    teams = (
        TeamEntry(OWNERS, members=("owner",)),
        TeamEntry(
            "runners", manage_membership=True, members=(_CALLER, *crowd), workspaces=everywhere
        ),
        *(TeamEntry(name, members=tuple(crowd)) for name in _CREWS),
    )
    people = ("owner", _CALLER, *_RECRUITS, *crowd)
    status = dict.fromkeys(people, Status.ACTIVE)
    entry = OrganizationEntry(_ORGANIZATION, status, workspaces, teams)
    return Directory(tuple(UserEntry(name) for name in people), (entry,))


def _operator() -> Caller:
    return Caller(b"", new_id("req"), Actor.operator("bench"))
