"""`audit list` and `audit verify`, over a real store that somebody touches: contract §7."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import json
import re
from datetime import datetime

import pytest

from teamvars.domain.names import is_safe
from tests.cli.conftest import DIRECTORY, ServedHost
from tests.cli.store import execute
from tests.support.commands import Host


def test_the_trail_names_operators_and_callers_and_what_they_did(served_host: ServedHost) -> None:
    attributes = {"key": "trail", "value": "s3cr3t-value", "description": "", "category": "env"}
    headers = {"Content-Type": "application/vnd.api+json", "X-Request-Id": "trail-1"}
    with served_host.server.client(served_host.token) as client:
        document = {"data": {"type": "vars", "attributes": attributes}}
        made = client.post(served_host.vars_path, json=document, headers=headers)
        assert client.delete(made.headers["Location"]).status_code == 204
    done = served_host.host.succeed("audit", "list", "--limit", "10000")
    assert "s3cr3t-value" not in done.out
    entries = [json.loads(line) for line in done.out.splitlines()]
    created = next(entry for entry in entries if entry["request"] == "trail-1")
    assert created["action"] == "variable.create"
    assert created["actor"] == {"type": "user", "id": served_host.applied["users"]["alice"]}
    assert created["details"]["key"] == "trail"
    assert any(entry["actor"]["type"] == "operator" for entry in entries)
    assert len(served_host.host.succeed("audit", "list", "--limit", "1").out.splitlines()) == 1
    assert served_host.host.run("audit", "list", "--limit", "0").code == 2


def test_verify_exits_with_3_once_somebody_has_touched_the_trail(served_host: ServedHost) -> None:
    untouched = served_host.host.succeed("audit", "verify")
    assert untouched.out == ""
    assert "streams verify" in untouched.err
    tamper = "UPDATE audit_entries SET subject_id = '{}' WHERE subject_id = '{}'"
    team = served_host.applied["organizations"]["acme"]["teams"]["platform"]
    execute(served_host.host, tamper.format("team-another", team))
    touched = served_host.host.run("audit", "verify")
    execute(served_host.host, tamper.format(team, "team-another"))
    assert touched.code == 3
    assert "the entry was altered or replaced" in touched.out
    assert served_host.host.run("audit", "verify").code == 0


@pytest.mark.parametrize(
    ("edit", "column"),
    [
        ("details = '['", "details"),
        ('details = \'{"opens": 7, "closes": [{"stream": 7}]} \'', None),
        ('details = \'{"closes": [{"stream": 7, "sequence": 1, "link": "00"}]}\'', None),
        ("at = 9223372036854775807", "at"),
        ("at = -9223372036854775807", "at"),
        ("at = 9223372036854775807, details = 'null'", "at, details"),
    ],
)
def test_a_touched_entry_hides_no_other_and_is_named(
    served_host: ServedHost, edit: str, column: str | None
) -> None:
    team = served_host.applied["organizations"]["acme"]["teams"]["platform"]
    where = f"WHERE stream_id = '{team}' AND sequence = 1"
    before = json.loads(
        served_host.host.succeed("audit", "list", "--stream", team).out.splitlines()[-1]
    )
    many = len(served_host.host.succeed("audit", "export").out.splitlines())
    at = round(datetime.fromisoformat(before["at"]).timestamp() * 1_000_000)
    execute(served_host.host, "CREATE TABLE kept (details TEXT)")
    execute(served_host.host, f"INSERT INTO kept SELECT details FROM audit_entries {where}")
    execute(served_host.host, f"UPDATE audit_entries SET {edit} {where}")
    ends = [
        served_host.host.run(*words)
        for words in (
            ("audit", "list", "--limit", 10000),
            ("audit", "export"),
            ("audit", "list", "--stream", team),
        )
    ]
    verified = served_host.host.run("audit", "verify")
    execute(
        served_host.host,
        f"UPDATE audit_entries SET at = {at}, details = (SELECT details FROM kept) {where}",
    )
    execute(served_host.host, "DROP TABLE kept")
    assert served_host.host.run("audit", "verify").code == 0
    assert (verified.code, f"{team} entry 1: " in verified.out) == (3, True)
    assert [len(done.out.splitlines()) for done in ends[:2]] == [many, many]
    for done in ends:
        touched = [one for line in done.out.splitlines() if "touched" in (one := json.loads(line))]
        if column is None:
            assert (done.code, done.said, touched) == (0, "", [])
        else:
            assert (done.code, len(touched)) == (1, 1)
            assert f"entry 1 of stream {team} was touched: {column}" in done.err
            assert all(touched[0][name] is None for name in column.split(", "))
            assert touched[0]["subject"] == before["subject"]


def test_what_is_stored_commands_no_terminal(served_host: ServedHost) -> None:
    team = served_host.applied["organizations"]["acme"]["teams"]["platform"]
    where = f"WHERE stream_id = '{team}' AND sequence = 1"
    before = json.loads(
        served_host.host.succeed("audit", "list", "--stream", team).out.splitlines()[-1]
    )
    hostile = "\x1b]0;owned\x07\u202e\x9b31m\x7f"
    execute(served_host.host, f"UPDATE audit_entries SET subject_id = '{hostile}' {where}")
    execute(served_host.host, f"UPDATE teams SET name = '{hostile}' WHERE id = '{team}'")
    execute(served_host.host, f"UPDATE teams SET manage_membership = 1 WHERE id = '{team}'")
    ends = [
        served_host.host.run("audit", "list", "--stream", team),
        served_host.host.run("audit", "export"),
        served_host.host.run("doctor"),
        served_host.host.run("doctor", "--json"),
        served_host.host.run("token", "revoke", hostile),
    ]
    subject = before["subject"]["id"]
    execute(served_host.host, f"UPDATE audit_entries SET subject_id = '{subject}' {where}")
    execute(
        served_host.host,
        f"UPDATE teams SET manage_membership = 1, name = 'platform' WHERE id = '{team}'",
    )
    for done in ends:
        assert is_safe((done.out + done.err).replace("\n", ""))
    assert json.loads(ends[0].out.splitlines()[-1])["subject"]["id"] == hostile
    assert "\\u001b]0;owned" in ends[2].out
    assert any(hostile in finding["text"] for finding in ends[3].json)


def test_what_is_of_another_type_than_its_column_hides_no_other(host: Host) -> None:
    """SQLite keeps what it is given."""
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    many = len(host.succeed("audit", "export").out.splitlines())
    edits = {
        "at": "'soon'",
        "actor_id": "CAST(x'ff' AS TEXT)",
        "details": "CAST(x'fffe' AS TEXT)",
        "request_id": "x'00ff'",
        "link": "'text'",
    }
    for n, (column, value) in enumerate(edits.items(), 1):
        where = f"WHERE stream_id = 'system' AND sequence = {n}"
        execute(host, f"UPDATE audit_entries SET {column} = {value} {where}")
    execute(host, "UPDATE streams SET link = 'text' WHERE id = 'system'")
    for words in (("audit", "list", "--limit", 10000), ("audit", "export")):
        done = host.run(*words)
        assert (done.code, len(done.out.splitlines())) == (1, many), done.err
        for n, column in enumerate(edits, 1):
            assert f"entry {n} of stream system was touched: {column}\n" in done.err
        lines = [json.loads(line) for line in done.out.splitlines()]
        touched = [line["touched"] for line in lines if "touched" in line]
        assert {"details": "fffe"} in touched
        assert {"link": "text"} in touched
    heads = host.run("audit", "head")
    assert heads.code == 1
    assert "stream system does not verify" in heads.err
    assert host.run("audit", "verify").code == 3


def test_what_is_accepted_is_passed_by_the_place_that_was_printed(migrated_host: Host) -> None:
    host = migrated_host
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    team = applied["organizations"]["acme"]["teams"]["platform"]
    execute(host, f"UPDATE audit_entries SET action = 'member.remove' WHERE stream_id = '{team}'")
    (digest,) = re.findall(rf"{team} found: ([0-9a-f]{{64}})", host.run("audit", "verify").out)
    words = ("audit", "accept", team, "--found", digest, "--reason", "seen")
    accepted = host.succeed(*words)
    place = accepted.out.strip()
    assert re.fullmatch(rf"{team}:[0-9]+", place)
    assert f"--accepted {place}" in accepted.err
    assert host.run("audit", "verify").code == 3
    assert host.run("audit", "verify", "--accepted", place).code == 0
