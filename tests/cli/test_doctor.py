"""`doctor` names each thing that is wrong, says what to do, and changes nothing."""

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

from teamvars import settings
from teamvars.cli.operator import doctor
from teamvars.security import keyring
from teamvars.services.diagnosis import Diagnosis
from teamvars.storage.database import Database
from teamvars.storage.engines import database_for
from tests.cli.conftest import DIRECTORY, ServedHost
from tests.cli.store import execute
from tests.support.commands import Host
from tests.support.deployment import open_deployment
from tests.support.openid_provider import provider
from tests.support.server import free_port
from tests.support.tenant import JSON_API, build_tenant, variable_document

_SECONDS_AHEAD = re.compile(r"[0-9]+ s(?= in the future)")
OK, ADVICE, PROBLEM = "ok", "advice", "problem"


@pytest.fixture
def ready(host: Host) -> Host:
    """An initialised host with a SQLite store."""
    host.succeed("init")
    return host


def findings(host: Host, code: int) -> list[tuple[str, str, str]]:
    """What it finds that is not well, in JSON and in words alike; it exits with that code. What it
    could not look at for that is left out.
    """
    done = host.run("doctor", "--json")
    assert done.code == code, done.err
    told: list[dict[str, Any]] = done.json
    in_words = host.run("doctor")
    assert in_words.code == code
    assert len(in_words.out.splitlines()) == len(told)
    for line, one in zip(in_words.out.splitlines(), told, strict=True):
        wanted = [one["severity"], f"{one['subject']}: {one['text']}"]
        # How far ahead an entry is, is told of two moments: the host may be busy in between.
        said, meant = (
            [_SECONDS_AHEAD.sub("", part) for part in parts]
            for parts in (line.split(maxsplit=1), wanted)
        )
        assert said == meant
    return [
        (one["severity"], one["subject"], one["text"])
        for one in told
        if one["severity"] != OK and one["subject"] != "unseen"
    ]


def test_a_sound_installation_has_no_findings_and_exits_with_0(ready: Host) -> None:
    assert findings(ready, 0) == []
    assert {"permissions", "engine", "disk", "keyring", "schema"} <= {
        one["subject"] for one in ready.run("doctor", "--json").json
    }


def test_a_mistyped_setting_is_named_without_its_value(ready: Host) -> None:
    ((severity, subject, text),) = findings(ready.having(databse_url="secret"), 1)
    assert (severity, subject) == (PROBLEM, "configuration")
    assert text == "TEAMVARS_DATABSE_URL is not a setting of teamvars. Correct or unset it."


@pytest.mark.parametrize(
    ("name", "mode", "wanted"),
    [(".", 0o755, 700), ("teamvars.db", 0o640, 600), ("keyring.json", 0o602, 600)],
)
def test_files_that_others_can_read_are_named_with_the_command_that_closes_them(
    ready: Host, name: str, mode: int, wanted: int
) -> None:
    path: Path = ready.data / name
    path.chmod(mode)
    ((severity, subject, text),) = findings(ready, 1)
    assert (severity, subject) == (PROBLEM, "permissions")
    command, _, named = text.rpartition(" ")
    assert command.endswith(f"Run: chmod {wanted}")
    assert ready.folder / named == path


def test_a_keyring_that_others_can_read_is_named_with_the_command(ready: Host) -> None:
    (ready.data / "keyring.json").chmod(0o644)
    ((severity, _, text),) = findings(ready, 1)
    assert severity == PROBLEM
    assert "teamvars-data/keyring.json has mode 0644: others can read it." in text
    assert "Run: chmod 600" in text


def test_a_keyring_that_is_gone_is_told_with_what_to_do(ready: Host) -> None:
    (ready.data / "keyring.json").unlink()
    ((severity, _, text),) = findings(ready, 1)
    assert severity == PROBLEM
    assert "There is no keyring at" in text
    assert "Restore it" in text


def test_what_was_found_before_a_damaged_keyring_is_kept_and_what_is_behind_it_named(
    ready: Host,
) -> None:
    (ready.data / "keyring.json").write_text("{}")
    done = ready.run("doctor", "--json")
    told = {one["subject"]: (one["severity"], one["text"]) for one in done.json}
    assert (done.code, told["engine"][0], told["disk"][0]) == (1, OK, OK)
    severity, text = told["installation"]
    assert severity == PROBLEM
    assert "is damaged. Restore it from your copy." in text
    severity, text = told["unseen"]
    assert severity == ADVICE
    assert text == (
        "Not looked at because of that: the keyring and the schema, lost rows, the audit trail, "
        "values, the directory, mail, runners, signing in, addresses."
    )


def test_a_store_that_is_not_there_leaves_all_of_it_unseen(host: Host) -> None:
    told = {one["subject"]: one["text"] for one in host.run("doctor", "--json").json}
    assert told["unseen"].startswith("Not looked at because of that: the engine, the keyring")


def test_a_keyring_of_another_installation_is_found_out(ready: Host, tmp_path: Path) -> None:
    other = Host(tmp_path / "other")
    other.folder.mkdir()
    other.succeed("init")
    ((severity, _, text),) = findings(ready.having(keyring=other.data / "keyring.json"), 1)
    assert severity == PROBLEM
    assert "The keyring is not this database's" in text


def test_a_store_that_is_not_there_is_told_with_the_setting_to_check(host: Host) -> None:
    found = findings(host, 1)
    assert [(severity, subject) for severity, subject, _ in found] == [(PROBLEM, "database")]
    assert "Check TEAMVARS_DATABASE_URL." in found[0][2]


def test_a_store_without_its_schema_is_told_with_the_command(ready: Host) -> None:
    (ready.data / "teamvars.db").unlink()
    (ready.data / "teamvars.db").touch(mode=0o600)
    (ready.data / "keyring.json.store").unlink()
    ((severity, _, text),) = findings(ready, 1)
    assert severity == PROBLEM
    assert "Run: teamvars migrate up" in text
    ready.succeed("migrate", "up")
    ((_, _, text),) = findings(ready, 1)
    assert "Run: teamvars init" in text


def test_entries_from_the_future_tell_of_a_wrong_clock(ready: Host) -> None:
    (ready.folder / "directory.yaml").write_text(DIRECTORY)
    ready.succeed("directory", "apply", "directory.yaml")
    execute(ready, "UPDATE audit_entries SET at = at + 3600000000")
    found = [one for one in findings(ready, 1) if one[1] == "clock"]
    assert [severity for severity, _, _ in found] == [PROBLEM]
    assert "s in the future. Set the clock, unless it is right by now" in found[0][2]


def test_texts_that_are_none_are_named_by_doctor_and_by_who_verifies_a_backup(
    ready: Host,
) -> None:
    (ready.folder / "directory.yaml").write_text(DIRECTORY)
    ready.succeed("directory", "apply", "directory.yaml")
    execute(ready, "UPDATE users SET username = CAST(x'626f62ff' AS TEXT) WHERE username = 'bob'")
    told = [text for _, subject, text in findings(ready, 1) if subject == "texts"]
    (text,) = told
    assert re.search(r"outside of the service \(1\): users user-\w+: username\.", text)
    ready.succeed("backup", "create", "b.tar")
    found = ready.run("backup", "verify", "b.tar")
    assert found.code == 3
    assert re.search(r"users user-\w+: username is no UTF-8", found.out)


DAMAGE = {
    "texts": "UPDATE teams SET name = CAST(x'ff' AS TEXT) WHERE name = 'crew'",
    "values": "UPDATE variables SET sealed_value = zeroblob(40)",
    "data keys": "UPDATE data_keys SET wrapped = zeroblob(60)",
    "variables": "DELETE FROM variables",
    "audit": "DELETE FROM audit_entries WHERE stream_id LIKE 'ws-%'",
    "streams": "UPDATE workspaces SET id = id || '~'",
    "places": "UPDATE workspaces SET project_id = 'prj-1111111111111111'",
    "trail": "UPDATE streams SET head = zeroblob(32) WHERE id LIKE 'ws-%'",
    "installation": "UPDATE schema_migrations SET checksum = 'another' WHERE number = 1",
}


async def test_whatever_of_a_store_is_damaged_is_a_problem_and_it_exits_with_1(ready: Host) -> None:
    keys, file = keyring.load(ready.data / "keyring.json"), ready.data / "teamvars.db"
    async with open_deployment(f"sqlite:///{file}", keys=keys) as deployment:
        await (await build_tenant(deployment)).make_variable()
    execute(ready, "PRAGMA wal_checkpoint(TRUNCATE)")
    sound = file.read_bytes()
    assert {severity for severity, _, _ in findings(ready, 0)} == {ADVICE}
    for subject, statement in DAMAGE.items():
        execute(ready, statement)
        done = ready.run("doctor", "--all", "--json")
        problems = {one["subject"] for one in done.json if one["severity"] == PROBLEM}
        assert (done.code, subject in problems) == (1, True), subject
        for rest in ("-wal", "-shm"):
            file.with_name(file.name + rest).unlink(missing_ok=True)
        file.write_bytes(sound)


def test_teams_that_manage_membership_and_single_owners_are_pointed_out(ready: Host) -> None:
    (ready.folder / "directory.yaml").write_text(DIRECTORY)
    ready.succeed("directory", "apply", "directory.yaml")
    found = {subject: (severity, text) for severity, subject, text in findings(ready, 0)}
    assert set(found) == {"manage-membership", "owners"}
    severity, text = found["manage-membership"]
    assert severity == ADVICE
    assert "acme/platform" in text
    assert "Keep that team small." in text
    severity, text = found["owners"]
    assert severity == ADVICE
    assert text == "Organization acme has one active owner. Add another before they leave."


def test_teams_whose_members_manage_their_token_are_pointed_out(ready: Host) -> None:
    may = DIRECTORY.replace("members: [bob],", "members: [bob], members-manage-token: true,")
    (ready.folder / "directory.yaml").write_text(may)
    ready.succeed("directory", "apply", "directory.yaml")
    told = [text for _, subject, text in findings(ready, 0) if subject == "members-manage-token"]
    assert [text.partition(" can make")[0] for text in told] == ["Members of team acme/platform"]


@pytest.mark.parametrize("right", ["manage-teams", "manage-organization-access"])
def test_teams_that_manage_teams_are_pointed_out(ready: Host, right: str) -> None:
    may = DIRECTORY.replace("members: [bob],", f"members: [bob], {right}: true,")
    (ready.folder / "directory.yaml").write_text(may)
    ready.succeed("directory", "apply", "directory.yaml")
    told = [text for _, subject, text in findings(ready, 0) if subject == "manage-teams"]
    assert [text.partition(" can make")[0] for text in told] == ["Members of team acme/platform"]


def test_an_organization_without_an_active_owner_is_a_problem(ready: Host) -> None:
    (ready.folder / "directory.yaml").write_text(DIRECTORY)
    ready.succeed("directory", "apply", "directory.yaml")
    execute(ready, "UPDATE memberships SET status = 'invited'")
    found = [one for one in findings(ready, 1) if one[1] == "owners"]
    assert [severity for severity, _, _ in found] == [PROBLEM]
    assert "acme has no active owner. Name one with 'directory apply'." in found[0][2]


def test_it_changes_nothing(served_host: ServedHost) -> None:
    before = served_host.host.succeed("audit", "head").out
    served_host.host.run("doctor")
    assert served_host.host.succeed("audit", "head").out == before


def test_a_postgres_that_does_not_sync_is_found_out(served_host: ServedHost) -> None:
    """The PostgreSQL of the tests is one: nobody reads its data after a crash."""
    told = served_host.host.run("doctor", "--json").json
    durability = [one for one in told if one["subject"] == "durability"]
    assert bool(durability) == ("DATABASE_URL" in served_host.host.settings)


def test_a_proxy_that_is_not_trusted_is_pointed_out_by_the_changes_it_passed_on(
    served_host: ServedHost,
) -> None:
    host = served_host.host
    for owner in (("--user", "bob"), ("--team", "acme/platform"), ("--organization", "acme")):
        token = host.succeed("token", "create", *owner).out.strip()
        with served_host.server.client(token) as client:
            made = client.post(
                served_host.vars_path,
                json=variable_document(key=f"by{owner[0]}"),
                headers={"Content-Type": JSON_API},
            )
        assert made.status_code == 201, made.text
    assert "addresses" in {one["subject"] for one in host.run("doctor", "--json").json}
    trusting = host.having(trusted_proxies="127.0.0.1")
    assert "addresses" not in {one["subject"] for one in trusting.run("doctor", "--json").json}


def test_variables_of_the_client_are_no_mistyped_settings(host: Host) -> None:
    host.succeed("init")
    client = {"address": "https://x", "token": "t", "organization": "o", "workspace": "w"}
    findings = host.having(**client).run("doctor", "--json").json
    assert not [one for one in findings if "is not a setting" in one["text"]]
    mistyped = host.having(adress="x").run("doctor", "--json").json
    assert [one for one in mistyped if "TEAMVARS_ADRESS is not a setting" in one["text"]]


def test_each_provider_is_tried(
    ready: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider(tmp_path) as running:
        monkeypatch.setenv("SSL_CERT_FILE", str(running.authority))
        secret = tmp_path / "secret"
        secret.write_text("the client's own secret")
        secret.chmod(0o600)
        said = {
            "title": "T",
            "client_id": "us",
            "organizations": ["acme"],
            "client_secret_file": str(secret),
        }
        away = f"https://127.0.0.1:{free_port()}"
        host = ready.having(
            public_url="https://vars.test",
            providers=json.dumps(
                {
                    "away": said | {"issuer": away, "organizations": ["else"]},
                    "company": said | {"issuer": running.url},
                }
            ),
        )
        ((severity, subject, text),) = findings(host, 1)
        assert (severity, subject) == (PROBLEM, "provider away")
        assert text.startswith(f"{away} cannot be asked: ConnectionRefusedError. Check its address")
        told = host.run("doctor", "--json").json
        back = "https://vars.test/app/sign-in/company/callback"
        assert [one["text"] for one in told if one["subject"] == "provider company"] == [
            f"{running.url} answers; keys: 1; it sends browsers back to {back}",
            f"{running.url} takes the client us, and refuses a code that it never gave",
        ]


def test_an_organization_that_nobody_can_sign_in_to_is_named(ready: Host) -> None:
    names = ("acme", "shut", "open")
    directory = "organizations:\n" + "".join(f"  - {{name: {name}}}\n" for name in names)
    (ready.folder / "directory.yaml").write_text(directory)
    ready.succeed("directory", "apply", "directory.yaml")
    execute(ready, "UPDATE organizations SET sso_required = 1 WHERE name <> 'open'")
    away = f"https://127.0.0.1:{free_port()}"
    said = {"title": "T", "issuer": away, "client_id": "us", "organizations": ["ACME"]}
    host = ready.having(public_url="https://vars.test", providers=json.dumps({"away": said}))
    for where, named in ((host, ["shut"]), (ready, ["acme", "shut"])):
        shut = [text for _, subject, text in findings(where, 1) if subject == "sign-in"]
        assert [text.split()[2] for text in shut] == named


def test_a_providers_secret_that_cannot_be_read_is_told_once(ready: Host, tmp_path: Path) -> None:
    said = {"title": "T", "client_id": "us", "organizations": ["acme"], "issuer": "https://a.test"}
    secret = str(tmp_path / "none")
    company = json.dumps({"company": said | {"client_secret_file": secret}})
    host = ready.having(public_url="https://vars.test", providers=company)
    (found,) = findings(host, 1)
    assert found[2].endswith(f"{secret} cannot be read.")


def test_a_data_key_that_is_none_any_more_is_named(ready: Host) -> None:
    (ready.folder / "directory.yaml").write_text("organizations:\n  - {name: acme}\n")
    ready.succeed("directory", "apply", "directory.yaml")
    for altered in ("wrapped = 'text'", "version = 1.5"):
        execute(ready, f"UPDATE data_keys SET {altered}")  # noqa: S608
        (severity, subject, text), *_ = findings(ready, 1)  # and that it has no owner
        assert (severity, subject) == (PROBLEM, "data keys")
        assert "does not open" in text


def test_a_check_value_that_is_a_text_fits_no_keyring(ready: Host) -> None:
    execute(ready, "UPDATE keyring_keys SET check_value = 'text'")
    ((severity, _, text),) = findings(ready, 1)
    assert severity == PROBLEM
    assert text.startswith("The keyring is not this database's")


def fail(*_: object) -> NoReturn:
    raise IndexError("of a row")


async def told_here(host: Host) -> dict[str, tuple[str, str]]:
    """What `doctor` finds in this process, by subject."""
    found = await doctor._collect(settings.load(data_dir=host.data), every_value=False)
    return {one.subject: (one.severity, one.text) for one in found}


async def test_rows_that_nobody_foresaw_hide_nothing_else(
    ready: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(ready, "UPDATE streams SET head = link WHERE id = 'system'")
    monkeypatch.setattr(Diagnosis, "of_data", fail)
    told = await told_here(ready)
    assert told["trail"][0] == PROBLEM
    severity, text = told["rows"]
    assert severity == PROBLEM
    assert text.startswith(
        "Rows that nobody foresaw keep the directory from being looked at: Index"
    )
    assert "of a row" not in text
    assert "unseen" not in told


async def test_a_store_that_cannot_be_closed_hides_nothing_of_what_was_found(
    ready: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unclosable(url: str) -> Database:
        database = database_for(url)
        monkeypatch.setattr(database, "close", fail)
        return database

    execute(ready, "UPDATE streams SET head = link WHERE id = 'system'")
    monkeypatch.setattr(doctor, "database_for", unclosable)
    told = await told_here(ready)
    assert told["trail"][0] == PROBLEM
    severity, text = told["database"]
    assert severity == PROBLEM
    assert text.startswith("All of it was looked at, but it could not be closed: IndexError")
    assert "unseen" not in told


def test_generations_of_which_none_is_in_use_are_looked_at_as_if_the_first_were(
    ready: Host,
) -> None:
    for altered in ("activated_at = NULL", "version = 'x'", "version = 1.5", "version = -1"):
        execute(ready, f"UPDATE data_key_generations SET {altered}")  # noqa: S608
        told = {one["text"] for one in ready.run("doctor", "--json").json}
        assert not any("nobody foresaw" in text for text in told)
        (key,) = [
            one
            for one in ready.succeed("keys", "status", "--json").json
            if one["id"].startswith("data-")
        ]
        assert (key["id"], key["active"]) == ("data-1", True)


def test_rows_that_no_engine_would_have_taken_are_named(ready: Host) -> None:
    directory = "users: [{username: ann}]\norganizations: [{name: acme, members: {ann: active}}]\n"
    (ready.folder / "directory.yaml").write_text(directory)
    ready.succeed("directory", "apply", "directory.yaml")
    execute(ready, "DELETE FROM users")
    execute(ready, "UPDATE organizations SET created_at = 'x'")
    ((severity, text),) = [found[::2] for found in findings(ready, 1) if found[1] == "rows"]
    assert severity == PROBLEM
    assert re.sub("org-[0-9A-Za-z]{16}", "org-1", text) == (
        "Rows that were altered outside of the service (2): row 1 of memberships refers to a row "
        "of users that is gone; organizations org-1: created_at is no integer. Take them from a "
        "backup."
    )
