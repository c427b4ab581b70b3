"""Choosing an engine by URL."""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from teamvars.storage.database import Database
from teamvars.storage.postgres import PostgresDatabase
from teamvars.storage.sqlite import SqliteDatabase


class UnknownEngine(Exception):
    """The URL is of no engine we have. The text does not quote it: it may hold a password."""


def described(url: str) -> str:
    """Which store that is, for people: engine, host and database, and never who logs in how."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return f"SQLite, {url.removeprefix('sqlite:///')}"
    query = dict(parse_qsl(parts.query))
    user, _, hosts = parts.netloc.rpartition("@")
    host = unquote(hosts) or query.get("host", "the local host")
    named = parts.path.removeprefix("/") or query.get("dbname") or query.get("database")
    database = unquote(named or user.partition(":")[0]) or "named as the account"
    return f"PostgreSQL on {host}, database {database}"


def database_for(
    url: str, *, create: bool = False, statement_seconds: float | None = None
) -> Database:
    """The store behind `sqlite:///path` or `postgresql://…`, not yet opened.

    `create` lets a missing SQLite file be made. `statement_seconds` is how long PostgreSQL may take
    for a statement; None: as long as it takes. Raises UnknownEngine.
    """
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        # As everywhere: three slashes and a relative path, four and an absolute one.
        return SqliteDatabase(Path(url.removeprefix("sqlite:///")), create=create)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url, statement_seconds)
    raise UnknownEngine("TEAMVARS_DATABASE_URL must begin with sqlite:/// or postgresql://")
