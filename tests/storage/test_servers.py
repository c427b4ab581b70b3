"""Of several servers each has its own error; which of them no wait mends."""

import ssl
from urllib.parse import urlsplit

import asyncpg
import pytest
from asyncpg import exceptions as pg

from teamvars.storage.engines import says_no_tls
from teamvars.storage.engines.outages import reason
from teamvars.storage.engines.servers import Servers, is_lasting
from tests.support.server import free_port


async def test_of_several_servers_the_reason_has_the_error_of_each() -> None:
    first, second = free_port(), free_port()
    url = f"postgresql://someone:hunter2@127.0.0.1:{first},127.0.0.1:{second}/x"
    with pytest.raises(ConnectionRefusedError) as caught:
        await Servers(urlsplit(url)).connect()
    told = reason(caught.value)
    assert [one.partition(": ")[0] for one in told.split("; ")] == [
        f"127.0.0.1:{first}",
        f"127.0.0.1:{second}",
    ]
    assert told.count("ConnectionRefusedError") == 2
    assert "hunter2" not in told


async def test_a_server_that_refuses_our_certificate_is_told_by_what_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def connect(*_: object, **__: object) -> None:
        said = ssl.SSLError(1, "tlsv1 alert unknown ca")
        raise pg.ConnectionDoesNotExistError("connection was closed") from said

    monkeypatch.setattr(asyncpg, "connect", connect)
    with pytest.raises(ssl.SSLError, match="alert unknown ca"):
        await Servers(urlsplit("postgresql://u@127.0.0.1/x")).connect()


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (pg.InvalidPasswordError("no"), True),
        (pg.InvalidAuthorizationSpecificationError("no entry"), True),
        (pg.InvalidCatalogNameError("no such database"), True),
        (ssl.SSLCertVerificationError("self-signed"), True),
        (ConnectionError('PostgreSQL server at "db:5432" rejected SSL upgrade'), True),
        (OSError(-2, "Name or service not known"), False),
        (ConnectionRefusedError(), False),
        (TimeoutError(), False),
        (pg.CannotConnectNowError("starting up"), False),
        (pg.TooManyConnectionsError("too many"), False),
    ],
)
def test_a_wait_mends_all_but_authentication_database_and_tls(
    error: Exception, is_so: bool
) -> None:
    assert is_lasting(error) is is_so


@pytest.mark.parametrize(
    ("url", "is_so"),
    [
        ("postgresql://u@db.example.com/x", True),
        ("postgresql://u@127.0.0.1,db.example.com/x", True),
        ("postgresql://u@db.example.com/x?sslmode=verify-full", False),
        ("postgresql://u@127.0.0.1:5433/x", False),
        ("postgresql://u@[::1]/x", False),
        ("postgresql:///x?host=/run/postgresql", False),
        ("sqlite:///x.db", False),
    ],
)
def test_a_url_without_sslmode_is_pointed_out_where_it_leaves_the_host(
    url: str, is_so: bool
) -> None:
    assert says_no_tls(url) is is_so
