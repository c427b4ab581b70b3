"""How each engine is driven; the engine of a URL."""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from teamvars.storage.database import Database
from teamvars.storage.engines import schemas
from teamvars.storage.engines.postgres import PostgresDatabase
from teamvars.storage.engines.sqlite import SqliteDatabase

_THIS_HOST = {None, "localhost", "127.0.0.1", "::1"}


class UnknownEngine(Exception):
    """No engine has such a URL. The text does not quote it, since it may contain a password."""


def described(url: str) -> str:
    """The store for people: engine, host and database, without user name and password."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return f"SQLite, {url.removeprefix('sqlite:///')}"
    query = dict(parse_qsl(parts.query))
    user, _, hosts = parts.netloc.rpartition("@")
    host = unquote(hosts) or query.get("host", "the local host")
    named = parts.path.removeprefix("/") or query.get("dbname") or query.get("database")
    database = unquote(named or user.partition(":")[0]) or "named as the account"
    return f"PostgreSQL on {host}, database {database}"


def is_sqlite(url: str) -> bool:
    """Whether the store is a file of this host."""
    return urlsplit(url).scheme == "sqlite"


def says_no_tls(url: str) -> bool:
    """Whether a PostgreSQL URL leaves open if the connection is encrypted, and it leaves the host.

    The driver then takes a connection without TLS as well, from whoever answers.
    """
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2].split(",")
    query = dict(parse_qsl(parts.query))
    if is_sqlite(url) or "sslmode" in query or query.get("host", "").startswith("/"):
        return False
    names = {urlsplit(f"//{host}").hostname for host in hosts}
    return not names <= _THIS_HOST


def database_for(
    url: str, *, create: bool = False, statement_seconds: float | None = None
) -> Database:
    """The store of `sqlite:///path` or `postgresql://…`, not yet opened.

    `create` makes a missing SQLite file. `statement_seconds` is the time-out of a statement on
    PostgreSQL; None: there is none. Raises UnknownEngine.
    """
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        # As in SQLAlchemy: three slashes and a relative path, or four for an absolute one.
        return SqliteDatabase(Path(url.removeprefix("sqlite:///")), create, schemas.Refusing())
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url, statement_seconds, schemas.Refusing())
    raise UnknownEngine("TEAMVARS_DATABASE_URL must begin with sqlite:/// or postgresql://")
