"""PostgreSQL over TLS with a private authority, and what is said when a part of it is missing."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from teamvars.security.certificates import throw_away
from teamvars.storage.engines import described
from tests.support.commands import Host
from tests.support.own_tls import own_tls
from tests.support.postgres import Postgres
from tests.support.tls_proxy import tls_proxy


@pytest.fixture
def secured(postgres: Postgres, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The URL of an empty database behind TLS, and the authority's certificate."""
    context, authority = own_tls(tmp_path)
    name = f"tls-{uuid4()}"
    postgres.create_database(name)
    parts = urlsplit(postgres.url(name))
    with tls_proxy(context, str(parts.hostname), parts.port or 5432) as port:
        yield f"postgresql://{parts.username}:hunter2@localhost:{port}/{name}", authority
    postgres.drop_database(name)


def test_a_server_is_verified_against_a_private_authority(
    host: Host, secured: tuple[str, Path]
) -> None:
    address, authority = secured
    there = host.having(database_url=f"{address}?sslmode=verify-full&sslrootcert={authority}")
    parts = urlsplit(address)
    name = f"PostgreSQL on localhost:{parts.port}, database {parts.path[1:]}"
    assert name in there.succeed("init").err
    told = {one["subject"]: one["text"] for one in there.run("doctor", "--json").json}
    assert told["store"] == name
    other = host.folder / "other.pem"
    other.write_bytes(throw_away().authority)
    refused = host.having(database_url=f"{address}?sslmode=verify-full&sslrootcert={other}").run(
        "migrate", "check"
    )
    assert refused.code == 1
    assert "certificate verify failed" in refused.err
    assert "try again" not in refused.err
    assert len(refused.said.splitlines()) == 1
    assert "hunter2" not in refused.err


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sslmode=verify-full", ("root.crt: No such file", "sslrootcert=/path/to/ca.pem")),
        ("sslmode=verify-full&sslrootcert=/none/ca.pem", ("/none/ca.pem: No such file",)),
        ("sslmode=verify-ca&sslrootcert=/etc/hostname", ("/etc/hostname: is no certificate",)),
        (
            "sslcert=/none/own.pem&sslkey=/none/own.key",
            ("sslcert=/none/own.pem: No such file", "; sslkey=/none/own.key: No such file"),
        ),
        ("sslmode=require&sslcrl=/", ("sslcrl=/: Is a directory",)),
        ("sslmode=hunter2", ("`sslmode` parameter must be one of",)),
        ("sslmode=require&ssl_min_protocol_version=hunter2", ("makes no sense to the driver",)),
    ],
)
def test_what_is_missing_for_tls_is_said_by_every_command(
    host: Host, query: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(host.folder))  # of an account without certificates
    there = host.having(database_url=f"postgresql://u:hunter2@localhost:1/d?{query}")
    refused = there.run("init")
    assert refused.code == 1
    (found,) = (one for one in there.run("doctor", "--json").json if one["severity"] == "problem")
    for word in words:
        assert word in refused.err
        assert word in found["text"]
    assert "hunter2" not in refused.err + found["text"]


@pytest.mark.parametrize("place", ["a..b", f"{'a' * 64}.com", "127.0.0.1:70000", "h:1,a..b:2"])
def test_a_host_or_port_that_cannot_be_is_said(host: Host, place: str) -> None:
    refused = host.having(database_url=f"postgresql://u:hunter2@{place}/d").run("init")
    assert refused.code == 1
    assert "TEAMVARS_DATABASE_URL: no host has such a name" in refused.err
    assert "hunter2" not in refused.err


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:////var/lib/t.db", "SQLite, /var/lib/t.db"),
        ("postgresql://u:p%40@db.example.com/vars", "PostgreSQL on db.example.com, database vars"),
        ("postgresql://u:p@a:1,b:2/d?password=p", "PostgreSQL on a:1,b:2, database d"),
        ("postgresql:///d?host=/run/pg", "PostgreSQL on /run/pg, database d"),
        ("postgresql://u:p@[::1]:5432", "PostgreSQL on [::1]:5432, database u"),
    ],
)
def test_a_store_is_described_by_engine_host_and_database(url: str, told: str) -> None:
    assert described(url) == told
