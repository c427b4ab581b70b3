"""Settings: flags, then TEAMVARS_*, then teamvars.toml (contract §7)."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from teamvars import settings, wiring
from teamvars.settings import SettingsError
from tests.support.commands import Host
from tests.support.patience import wait_until
from tests.support.postgres import Postgres
from tests.support.server import end_group, free_port

PROVIDER: dict[str, Any] = {
    "title": "Example Inc.",
    "issuer": "https://login.example.com",
    "client_id": "teamvars",
    "organizations": ["acme"],
    "domains": ["example.com"],
}
OTHER = {"issuer": "https://other.example.com", "domains": ["example.org"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, and an environment without settings."""
    for name in [name for name in os.environ if name.startswith("TEAMVARS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_flags_win_over_the_environment_and_that_over_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.load().port == 8080
    (folder / "teamvars.toml").write_text("port = 1001\nworkers = 3\n")
    assert settings.load().port == 1001
    monkeypatch.setenv("TEAMVARS_PORT", "1002")
    assert settings.load().port == 1002
    assert settings.load(port=1003).port == 1003
    assert settings.load(port=None).port == 1002
    assert settings.load().workers == 3


def test_everything_that_is_not_set_has_its_place_in_the_data_directory(folder: Path) -> None:
    config = settings.load(data_dir=Path("d"))
    assert config.url == f"sqlite:///{folder}/d/teamvars.db"
    assert config.keyring_path == Path("d/keyring.json")
    assert config.quota.variables == 5000
    assert settings.load(max_variables=0).quota.variables is None


def test_proxies_are_a_list_in_the_file_and_commas_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "teamvars.toml").write_text('trusted_proxies = ["10.0.0.0/8"]\n')
    assert [str(network) for network in settings.load().trusted_proxies] == ["10.0.0.0/8"]
    monkeypatch.setenv("TEAMVARS_TRUSTED_PROXIES", "192.0.2.1, 2001:db8::/32,")
    found = [str(network) for network in settings.load().trusted_proxies]
    assert found == ["192.0.2.1/32", "2001:db8::/32"]


@pytest.mark.parametrize("query", ["", "?pooler=transaction", "?sslmode=require"])
def test_the_pooler_is_said_by_its_setting_or_in_the_url(
    folder: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setenv("TEAMVARS_DATABASE_URL", f"postgresql://h/d{query}")
    assert settings.load().url == f"postgresql://h/d{query}"
    monkeypatch.setenv("TEAMVARS_DATABASE_POOLER", "transaction")
    url = settings.load().url
    assert url.count("pooler=transaction") == 1
    assert url.startswith(f"postgresql://h/d{query or '?'}")
    settings.export(settings.load())  # as workers read it
    assert settings.load().url == url


@pytest.mark.parametrize(
    ("url", "said"), [("postgresql://h/d?pooler=session", "another"), (None, "for PostgreSQL")]
)
def test_a_pooler_that_makes_no_sense_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, url: str | None, said: str
) -> None:
    if url is not None:
        monkeypatch.setenv("TEAMVARS_DATABASE_URL", url)
    monkeypatch.setenv("TEAMVARS_DATABASE_POOLER", "transaction")
    with pytest.raises(SettingsError, match=f"database_pooler is .*{said}"):
        settings.load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "sevensevenseven"),
        ("HOST", "\udcff-\udcff"),
        ("DATABASE_URL", "sqlite:///\udcff-\udcff"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("DATA_DIR", ""),
        ("KEYRING", ""),
        ("TLS_KEY", ""),
        ("HOST", ""),
        ("WORKERS", "0"),
        ("WORKERS", "manymanymany"),
        ("LOG_FORMAT", "xml-xml-xml"),
        ("LOG_LEVEL", "chattychatty"),
        ("MAX_VARIABLES", "-1"),
        ("CACHE_MIB", "0"),
        ("CACHE_MIB", "4097"),
        ("STATEMENT_SECONDS", "0"),
        ("STATEMENT_SECONDS", "inf"),
        ("RATE_LIMIT", "29"),
        ("RATE_LIMIT", "-30"),
        ("RATE_LIMIT", "many"),
        ("TRUSTED_PROXIES", "10.0.0.0/99"),
        ("TRUSTED_PROXIES", "everybody"),
        ("DATABASE_URL", "mysql://u:hunter2@h/d"),
        ("DATABASE_URL", "sqlite://hunter2"),
        ("DATABASE_URL", "hunter2"),
        ("DATABASE_URL", "postgresql://[hunter2"),
        ("DATABASE_URL", "postgresql://u:hun/ter2@h/d"),
        ("DATABASE_URL", "postgresql://u:hun?ter2@h/d"),
        ("DATABASE_URL", "postgresql://u:hun#ter2@h/d"),
        ("DATABASE_URL", "postgresql://u:7/hunter2@h/d"),
        ("DATABASE_URL", "postgresql://u:hun@ter2@h/d"),
        ("DATABASE_URL", "postgresql://h/d?pooler=hunter2"),
        ("DATABASE_POOLER", "hunter2"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_never_quoted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"TEAMVARS_{name}", value)
    with pytest.raises(SettingsError) as refused:
        settings.load()
    assert name.lower() in str(refused.value)
    for part in (value, "hunter2", "hun", "ter2", "everybody", "10.0.0.0"):
        assert len(part) < 3 or part not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///relative.db",
        "sqlite:////var/lib/teamvars/teamvars.db",
        "postgresql://teamvars@db/teamvars",
        "postgresql://teamvars:p%40ss@db:5432/teamvars?sslmode=require",
        "postgresql://u@a:5432,b:5433/d?target_session_attrs=read-write",
        "postgresql://u@[::1]:5432/d",
        "postgresql:///d?host=/run/postgresql",
    ],
)
def test_every_form_of_database_url_is_taken(folder: Path, url: str) -> None:
    assert settings.load(database_url=url).url == url


def test_workers_find_what_the_flags_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "teamvars.toml").write_text('log_format = "console"\nmax_variables = 9\n')
    said = settings.load(
        host="::1",
        port=1001,
        workers=3,
        tls_cert=folder / "c",
        tls_key=folder / "t",
        data_dir=folder / "d",
        database_url="postgresql://u:p%40ss@h/d",
        database_pooler="session",
        keyring=folder / "k",
        keyring_wrap="command:/opt/wrap 'a b'",
        dialect="terraform",
        directory_api=False,
        console=False,
        log_format="json",
        log_level="warning",
        log_sample=0.5,
        cache_mib=5,
        statement_seconds=2.5,
        max_variables=7,
        max_sets=8,
        max_set_variables=9,
        workspace_sets=10,
        trusted_proxies="192.0.2.0/24,::1",
        audit_addresses=False,
        rate_limit=30,
        smtp_url="smtps://u:p%40ss@mail.example.com",
        smtp_insecure=True,
        mail_from="vars@example.com",
        public_url="https://vars.example.com",
        invitations_a_day=9,
        issuers=f"github,https://ci.example.com={folder}/keys.json",
        allow_exec=True,
        metrics_listen="off",
        providers={"company": {**PROVIDER, "client_secret_file": str(folder / "s")}},
    )
    otherwise = settings.Settings.model_construct()
    for name in settings.Settings.model_fields.keys() - {"runner_approval"}:  # it has one value
        assert getattr(said, name) != getattr(otherwise, name), f"{name} is not said"
    monkeypatch.setattr(os, "environ", dict(os.environ))
    settings.export(said)
    found = settings.load()
    assert found == said


def test_workers_are_told_what_the_parents_terminal_makes_of_auto(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    settings.export(settings.load())
    assert settings.load().log_format == "console"


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"issuer": "http://login.example.com"}, "issuer"),
        ({"issuer": "https://login.example.com/?a"}, "issuer"),
        ({"organizations": []}, "organizations"),
        ({"token_days": 0}, "token_days"),
        ({"domains": ["@example.com"]}, "domains"),
        ({"domains": ["example.com", ""]}, "domains"),
        ({"domains": ["ex\u0430mple.com"]}, "domains"),
        ({"title": ""}, "title"),
        ({"secret": "hunter2"}, "secret"),
        ({"client_id": None}, "client_id"),
    ],
)
def test_a_provider_that_makes_no_sense_is_refused(
    folder: Path, changed: dict[str, object], word: str
) -> None:
    said = {"public_url": "https://vars.example.com"}
    with pytest.raises(SettingsError, match=word) as refused:
        settings.load(**said, providers={"company": PROVIDER | changed})
    assert "hunter2" not in str(refused.value)
    assert settings.load(**said, providers={"company": PROVIDER}).providers["company"].title


@pytest.mark.parametrize(
    ("providers", "word"),
    [
        ({"a": PROVIDER, "b": PROVIDER}, "issuer"),
        ({"a": PROVIDER, "b": PROVIDER | OTHER | {"domains": ["EXAMPLE.com"]}}, "domains"),
        ({"A b": PROVIDER}, "named"),
        ("{", "JSON"),
    ],
)
def test_providers_are_told_apart(folder: Path, providers: Any, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        settings.load(public_url="https://vars.example.com", providers=providers)
    both = {"a": PROVIDER, "b": PROVIDER | OTHER}
    assert len(settings.load(public_url="https://v.example.com", providers=both).providers) == 2


def test_providers_need_an_address_that_people_come_back_to(folder: Path) -> None:
    with pytest.raises(SettingsError, match="public_url"):
        settings.load(providers={"company": PROVIDER})


@pytest.mark.parametrize(
    ("public_url", "issuer", "is_taken"),
    [
        ("http://127.0.0.1:8080", "http://localhost:8081/realms/a", True),
        ("https://localhost:8080", "http://127.0.0.1:8081", True),
        ("https://vars.example.com", "http://127.0.0.1:8081", False),
        ("http://127.0.0.1:8080", "http://login.example.com", False),
        ("http://127.0.0.1:8080", "http://127.0.0.1.example.com", False),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081?a", False),
        ("http://127.0.0.1:8080", "ftp://127.0.0.1:8081", False),
        ("http://127.0.0.1:8080", "https://login.example.com", True),
    ],
)
def test_a_provider_without_tls_is_on_this_machine_and_so_is_the_service(
    folder: Path, public_url: str, issuer: str, is_taken: bool
) -> None:
    said = {"company": PROVIDER | {"issuer": issuer}}
    if is_taken:
        assert settings.load(public_url=public_url, providers=said).providers
    else:
        with pytest.raises(SettingsError, match=r"issuer|without TLS"):
            settings.load(public_url=public_url, providers=said)


def test_providers_that_are_nested_deeply_are_refused_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAMVARS_PROVIDERS", "[" * 5000 + "]" * 5000)
    with pytest.raises(SettingsError, match="providers: "):
        settings.load()


def test_a_secret_of_a_client_is_read_from_its_file_and_shown_nowhere(folder: Path) -> None:
    file = folder / "company.secret"
    said = PROVIDER | {"client_secret_file": str(file)}
    config = settings.load(public_url="https://v.example.com", providers={"company": said})
    with pytest.raises(SettingsError, match="cannot be read"):
        wiring.setup_of(config)
    file.write_text("\n")
    with pytest.raises(SettingsError, match="is empty"):
        wiring.setup_of(config)
    file.write_text("hunter2\n")
    (client,) = wiring.setup_of(config).clients
    assert client.secret == "hunter2"
    assert client.redirect == "https://v.example.com/app/sign-in/company/callback"
    assert "hunter2" not in repr(client) + repr(config)


def test_a_url_without_a_path_is_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="database_url"):
        settings.load(database_url="sqlite:///")


def test_a_url_with_its_password_is_in_no_representation(folder: Path) -> None:
    config = settings.load(database_url="postgresql://u:hunter2@h/d")
    assert "hunter2" not in repr(config) + str(config) + str(config.model_dump())


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("prot = 1\n", "prot: there is no such setting"),
        ('port = "hunter2"\n', "port"),
        ('database_url = "hunter2"\n', "database_url"),
        ('[database]\nurl = "hunter2"\n', "database"),
        ("port = \n", "teamvars.toml"),
        ("port = 1\nport = 2\n", "teamvars.toml"),
        (f"providers = {'[' * 5000}{']' * 5000}\n", "teamvars.toml"),
        (f"port = {'9' * 5000}\n", "teamvars.toml"),
        ('data_dir = "hunter2\\u0000"\n', "data_dir"),
    ],
)
def test_a_wrong_file_ends_every_command_with_2(host: Host, text: str, word: str) -> None:
    (host.folder / "teamvars.toml").write_text(text)
    for words in (("serve",), ("init",), ("migrate", "check"), ("dev",)):
        done = host.run(*words)
        assert (done.code, done.out) == (2, "")
        assert word in done.err
        assert "hunter2" not in done.err
    assert not host.data.exists()


def test_a_file_that_is_no_text_ends_a_command_with_2(host: Host) -> None:
    (host.folder / "teamvars.toml").write_bytes(b"\xff\xfe")
    done = host.run("migrate", "check")
    assert (done.code, done.err) == (2, "teamvars: teamvars.toml cannot be read.\n")


def test_a_command_takes_settings_from_all_three_places(host: Host) -> None:
    (host.folder / "teamvars.toml").write_text('data_dir = "from-file"\n')
    host.succeed("init")
    assert (host.folder / "from-file" / "teamvars.db").exists()
    host.having(data_dir="from-environment").succeed("init")
    assert (host.folder / "from-environment" / "teamvars.db").exists()
    host.having(data_dir="from-environment").succeed("--data-dir", "from-flag", "init")
    assert (host.folder / "from-flag" / "keyring.json").exists()


def test_a_path_on_the_command_line_that_is_empty_is_refused(host: Host) -> None:
    for flag in ("--data-dir", "--keyring"):
        refused = host.run(flag, "", "init")
        assert (refused.code, "must not be empty" in refused.err) == (2, True)
    for words in (
        ("directory", "apply", ""),
        ("directory", "export", "acme", ""),
        ("backup", "verify", ""),
    ):
        refused = host.run(*words)
        assert (refused.code, "It is empty" in refused.err) == (2, True)
    assert not (host.folder / "keyring.json").exists()


@pytest.mark.parametrize(
    "url", ["postgresql://u:hunter2@h/d", "postgresql://u@h/d?password=hunter2"]
)
def test_a_password_on_the_command_line_is_refused(host: Host, url: str) -> None:
    for command in (("--database-url", url, "init"), ("backup", "verify", "--database", url)):
        done = host.run(*command)
        assert (done.code, done.out) == (2, "")
        assert "~/.pgpass or TEAMVARS_DATABASE_URL" in done.err
        assert "hunter2" not in done.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://teamvars:hunter2@127.0.0.1:1/teamvars",
        "postgresql://teamvars:hunter2@nowhere.invalid/teamvars",
        "postgresql://teamvars:hunter2@127.0.0.1:1/teamvars?sslmode=hunter2",
    ],
)
def test_a_server_that_cannot_be_reached_never_has_its_password_shown(host: Host, url: str) -> None:
    host.succeed("init")
    there = host.having(database_url=url)
    done = there.run("migrate", "check")
    assert (done.code, done.out) == (1, "")
    assert done.said.startswith("teamvars: ")
    (log := host.folder / "log").touch()
    with log.open("w") as to_log:
        serving = there.start("serve", "--port", free_port(), out=to_log, err=to_log)
    try:
        wait_until(log.read_text)  # it may wait for the server, and says so
    finally:
        end_group(serving)
    for said in (done.err, log.read_text()):
        assert "hunter2" not in said
        assert "Traceback" not in said


def test_a_database_that_is_missing_is_named(host: Host, postgres: Postgres) -> None:
    done = host.having(database_url=postgres.url("nosuchdatabase")).run("migrate", "check")
    assert done.code == 1
    assert 'database "nosuchdatabase" does not exist' in done.err


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com",
        "http://mail.example.com",
        "smtp://",
        "smtp://mail.example.com/path",
        "smtp://user:sec?ret@mail.example.com",
        "smtp://user:se@cret@mail.example.com",
        "smtp://mail.example.com:port",
        "smtp://mail.exa mple.com",
    ],
)
def test_a_mail_server_that_is_none_is_refused_and_its_password_not_shown(
    url: str, host: Host
) -> None:
    mail = {"mail_from": "vars@example.com", "public_url": "https://vars.example.com"}
    done = host.having(smtp_url=url, **mail).run("init")
    assert done.code == 2
    assert "smtp_url: must be smtp://" in done.err
    assert "cret" not in done.err


@pytest.mark.parametrize(
    "url",
    [
        "http://vars.example.com",
        "https://vars.example.com/path",
        "https://user@vars.example.com",
        "ftp://vars.example.com",
        "https://vars.example.com?a",
        "vars.example.com",
    ],
)
def test_links_lead_nowhere_but_to_a_safe_place(url: str, host: Host) -> None:
    done = host.having(public_url=url).run("init")
    assert done.code == 2
    assert "public_url: must be https://host" in done.err


def test_mail_is_set_up_whole_or_not_at_all(host: Host) -> None:
    done = host.having(smtp_url="smtp://mail.example.com").run("init")
    assert done.code == 2
    assert done.err == "teamvars: Wrong settings: smtp_url needs mail_from and public_url\n"


@pytest.mark.parametrize(
    ("public_url", "service"),
    [
        (None, None),
        ("https://Vars.example.com/", "https://vars.example.com"),
        ("https://vars.example.com:443", "https://vars.example.com"),
        ("https://vars.example.com:8443", "https://vars.example.com:8443"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://127.0.0.1:443", "http://127.0.0.1:443"),
    ],
)
def test_jobs_and_the_service_call_it_by_one_name(
    folder: Path, public_url: str | None, service: str | None
) -> None:
    assert settings.load(public_url=public_url).service == service
