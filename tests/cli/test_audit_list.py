"""`audit list` as a person asks: by names, also of what is gone, and with a table to look at."""

import getpass
import json
import os
import pty
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ServedHost
from tests.cli.store import execute
from tests.support.engines import HOST_ON_SQLITE
from tests.support.patience import HANGS
from tests.support.tenant import JSON_API, variable_document

OPERATOR = getpass.getuser()


def listed(served_host: ServedHost, *words: object) -> list[dict[str, Any]]:
    done = served_host.host.succeed("audit", "list", "--limit", 10000, *words)
    return [json.loads(line) for line in done.out.splitlines()]


def actions(entries: Sequence[dict[str, Any]]) -> set[str]:
    return {entry["action"] for entry in entries}


@pytest.fixture(scope="module")
def gone(served_host: ServedHost) -> str:
    """The id of a workspace that had a variable, was renamed, and is gone with it."""
    with served_host.server.client(served_host.token) as client:
        client.headers["Content-Type"] = JSON_API
        spaces = "/api/v2/organizations/acme/workspaces"
        document = {"data": {"type": "workspaces", "attributes": {"name": "short-lived"}}}
        id_: str = client.post(spaces, json=document).json()["data"]["id"]
        path = f"/api/v2/workspaces/{id_}"
        document["data"]["attributes"] = {"name": "renamed"}
        for answer in (
            client.post(f"{path}/vars", json=variable_document(key="fleeting")),
            client.patch(path, json=document),
            client.delete(path),
        ):
            assert answer.status_code in (200, 201, 204), answer.text
    return id_


IN_AND_TO_THE_WORKSPACE = {
    "workspace.create",
    "variable.create",
    "workspace.update",
    "workspace.rename",
    "workspace.delete",
}


@pytest.mark.parametrize("name", ["acme/short-lived", "ACME/renamed", None])
def test_a_workspace_that_is_gone_is_found_by_each_of_its_names_and_by_id(
    served_host: ServedHost, gone: str, name: str | None
) -> None:
    found = listed(served_host, "--workspace", name or gone)
    assert actions(found) == IN_AND_TO_THE_WORKSPACE
    assert all(gone in (one["stream"], one["subject"]["id"]) for one in found)
    assert len(found) == len(IN_AND_TO_THE_WORKSPACE)


def test_entries_say_what_their_ids_stand_for(served_host: ServedHost, gone: str) -> None:
    (made,) = listed(served_host, "--workspace", gone, "--action", "variable.create")
    assert made["names"] == {"actor": "alice", "stream": "acme/renamed", "subject": "fleeting"}
    assert made["address"] == "127.0.0.1"
    applied = listed(served_host, "--subject", "acme/platform", "--action", "team.create")
    assert applied[0]["names"] == {"actor": OPERATOR, "stream": "acme", "subject": "acme/platform"}
    assert applied[0]["address"] is None
    members = listed(served_host, "--action", "membership.create")
    assert {one["names"]["subject"] for one in members} >= {"alice", "bob", "carol"}


def test_a_subject_is_found_by_its_name_and_a_key_by_its_very_letters(
    served_host: ServedHost, gone: str
) -> None:
    found = listed(served_host, "--subject", "fleeting")
    assert {one["subject"]["type"] for one in found} == {"vars"}
    assert {one["stream"] for one in found} == {gone}
    assert served_host.host.run("audit", "list", "--subject", "FLEETING").code == 5
    assert actions(listed(served_host, "--subject", "short-lived")) == IN_AND_TO_THE_WORKSPACE - {
        "variable.create"
    }
    user = listed(served_host, "--subject", "Bob")
    assert actions(user) == {"user.create"}


def test_an_actor_is_found_by_each_kind_of_name(served_host: ServedHost, gone: str) -> None:
    alice = served_host.applied["users"]["alice"]
    by_alice = listed(served_host, "--actor", "ALICE")
    assert by_alice == listed(served_host, "--actor", alice) != []
    assert {one["actor"]["id"] for one in by_alice} == {alice}
    by_operator = listed(served_host, "--actor", f"operator:{OPERATOR}")
    assert {one["actor"]["type"] for one in by_operator} == {"operator"}
    assert by_operator == listed(served_host, "--actor", OPERATOR)
    team_token = served_host.host.succeed("token", "create", "--team", "acme/owners").out.strip()
    with served_host.server.client(team_token) as client:
        answer = client.post(
            served_host.vars_path,
            json=variable_document(key="by-a-team"),
            headers={"Content-Type": JSON_API},
        )
        assert answer.status_code == 201
    assert actions(listed(served_host, "--actor", "acme/owners")) == {"variable.create"}
    # It is known, whether or not a token of its own has changed anything.
    acme = served_host.applied["organizations"]["acme"]["id"]
    assert {one["actor"]["id"] for one in listed(served_host, "--actor", "acme")} <= {acme}


def test_an_organization_has_all_that_is_or_was_in_it(served_host: ServedHost, gone: str) -> None:
    found = listed(served_host, "--organization", "Acme")
    acme = served_host.applied["organizations"]["acme"]["id"]
    assert listed(served_host, "--organization", acme) == found
    assert actions(listed(served_host, "--workspace", gone)) <= actions(found)
    assert {"organization.create", "team.create", "member.add", "grant.put"} <= actions(found)
    assert "user.create" not in actions(found)
    team = listed(served_host, "--team", "acme/platform", "--organization", "acme")
    assert {"team.create", "member.add", "grant.put"} <= actions(team)
    platform = served_host.applied["organizations"]["acme"]["teams"]["platform"]
    assert {one["names"]["stream"] for one in team if one["stream"] == platform} == {
        "acme/platform"
    }


def test_what_happened_to_a_set_is_found_by_each_of_its_names(served_host: ServedHost) -> None:
    with served_host.server.client(served_host.token) as api:
        api.headers["Content-Type"] = JSON_API
        document: dict[str, Any] = {"data": {"type": "varsets", "attributes": {"name": "Keys"}}}
        made = api.post("/api/v2/organizations/acme/varsets", json=document).json()["data"]["id"]
        document["data"]["attributes"] = {"name": "New keys"}
        assert api.patch(f"/api/v2/varsets/{made}", json=document).status_code == 200
        assert api.delete(f"/api/v2/varsets/{made}").status_code == 204
    wanted = {"varset.create", "varset.update", "varset.rename", "varset.delete"}
    for name in ("acme/Keys", "acme/new keys", made):
        assert actions(listed(served_host, "--set", name)) == wanted
    assert actions(listed(served_host, "--subject", "New keys")) == wanted


def test_times_are_asked_for_as_they_are_shown_or_as_so_long_ago(
    served_host: ServedHost, gone: str
) -> None:
    whole = listed(served_host)
    middle = whole[len(whole) // 2]["at"]
    later = listed(served_host, "--since", middle)
    earlier = listed(served_host, "--until", middle)
    assert later + earlier == whole
    assert later[-1]["at"] == middle
    assert listed(served_host, "--since", "2d") == whole
    assert listed(served_host, "--until", "1w") == []
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert (
        listed(served_host, "--until", tomorrow.date().isoformat(), "--since", "2020-01-01T00:00Z")
        == whole
    )


@HOST_ON_SQLITE
@pytest.mark.parametrize("said", ["", "2", "d", "-2d", "2y", "yesterday", "2026-13-01", "²d"])
def test_what_is_no_time_is_a_usage_error(served_host: ServedHost, said: str) -> None:
    for option in ("--since", "--until"):
        done = served_host.host.run("audit", "list", f"{option}={said}")
        assert done.code == 2
        assert option in done.err


def test_what_nothing_was_ever_called_is_not_found_and_named_all_at_once(
    served_host: ServedHost, gone: str
) -> None:
    asked = {
        "actor": "nobody",
        "subject": "nothing",
        "action": "variable.destroy",
        "workspace": "acme/nowhere",
        "set": "acme/no set",
        "team": "platform",
        "organization": "' OR 1=1 --",
        "stream": "ws-none",
    }
    done = served_host.host.run(
        "audit", "list", *(f"--{name}={text}" for name, text in asked.items())
    )
    assert (done.code, done.out) == (5, "")
    for text in asked.values():
        assert text in done.err
    for noun, option in (("variable set", "set"), ("team", "team"), ("workspace", "workspace")):
        assert f"is and was no {noun} {asked[option]};" in done.err
    assert served_host.host.run("audit", "list", "--actor", "operator:nobody").code == 5
    for nobody in ("operator", f"team:{OPERATOR}"):
        done = served_host.host.run("audit", "list", "--actor", nobody)
        assert (done.code, f"called {nobody}," in done.err) == (5, True)
    assert (
        served_host.host.run(
            "audit", "list", "--workspace", served_host.applied["users"]["bob"]
        ).code
        == 5
    )
    for text in ("\x1b[31m", b"\xff".decode(errors="surrogateescape")):
        assert served_host.host.run("audit", "list", "--actor", text).code == 2


def on_a_terminal(served_host: ServedHost, *words: str) -> str:
    """What the command shows there."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as out, Path(os.devnull).open("w") as err:
        command = served_host.host.start(*words, out=out, err=err)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # nobody has the other end any more
        pass
    os.close(ours)
    assert command.wait(HANGS) == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_table_that_says_the_same(served_host: ServedHost, gone: str) -> None:
    words = ("audit", "list", "--workspace", "acme/renamed")
    lines = listed(served_host, *words[2:])
    heading, *rows = on_a_terminal(served_host, *words).splitlines()
    assert " ".join(heading.split()) == "TIME ACTOR ADDRESS ACTION STREAM SUBJECT CHANGED"
    assert [row.split()[0] for row in rows] == [line["at"] for line in lines]
    (renamed,) = (row for row in rows if "workspace.update" in row)
    assert renamed.split()[1:] == [
        *("user", "alice", "127.0.0.1", "workspace.update", "acme/renamed"),
        *("workspaces", "acme/renamed", "name"),
    ]
    starts = {row.index("127.0.0.1") for row in rows}
    assert starts == {heading.index("ADDRESS")}
    assert on_a_terminal(served_host, *words, "--json") == served_host.host.succeed(*words).out


def test_a_table_hides_no_touched_row_and_commands_no_terminal(
    served_host: ServedHost, gone: str
) -> None:
    where = f"WHERE stream_id = '{gone}' AND sequence = 1"
    hostile = "var-\x1b]0;owned\x07"
    before = listed(served_host, "--workspace", gone, "--action", "variable.create")[0]["subject"][
        "id"
    ]
    execute(served_host.host, f"UPDATE audit_entries SET subject_type = '{hostile}' {where}")  # noqa: S608
    shown = on_a_terminal(served_host, "audit", "list", "--stream", gone)
    execute(served_host.host, f"UPDATE audit_entries SET subject_type = 'vars' {where}")  # noqa: S608
    assert "\x1b" not in shown
    assert f"var-\\u001b]0;owned\\u0007 {before}" in shown
    assert served_host.host.run("audit", "verify").code == 0
