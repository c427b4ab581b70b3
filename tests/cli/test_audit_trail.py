"""`audit list`, `head`, `export`, `verify --heads`: what leaves the host, and what it proves."""

import json
import re
import signal
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ServedHost
from tests.cli.store import execute
from tests.support.commands import Done, Host
from tests.support.engines import HOST_ON_SQLITE
from tests.support.patience import HANGS, wait_until
from tests.support.postgres import LocalPostgres


def lines(done: Done) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def change(served_host: ServedHost, key: str) -> dict[str, Any]:
    """A variable, made over HTTP; returns its resource object."""
    attributes = {"key": key, "value": "v", "description": "", "category": "env"}
    with served_host.server.client(served_host.token) as client:
        answer = client.post(
            served_host.vars_path,
            json={"data": {"type": "vars", "attributes": attributes}},
            headers={"Content-Type": "application/vnd.api+json"},
        )
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def workspace(served_host: ServedHost) -> str:
    id_: str = served_host.applied["organizations"]["acme"]["workspaces"]["network"]
    return id_


def test_a_cursor_goes_through_the_whole_list_without_a_gap_or_a_repetition(
    served_host: ServedHost,
) -> None:
    change(served_host, "cursor-1")
    change(served_host, "cursor-2")
    whole = lines(served_host.host.run("audit", "list", "--limit", 10000))
    assert len(whole) > 4
    found: list[dict[str, Any]] = []
    while page := lines(
        served_host.host.run(
            *("audit", "list", "--limit", 3),
            *(("--before", found[-1]["cursor"]) if found else ()),
        )
    ):
        found += page
    assert found == whole
    assert [one["at"] for one in whole] == sorted((one["at"] for one in whole), reverse=True)


def test_filters_let_through_what_was_asked_for_and_nothing_else(served_host: ServedHost) -> None:
    made = change(served_host, "filtered")
    whole = lines(served_host.host.run("audit", "list", "--limit", 10000))
    alice = served_host.applied["users"]["alice"]
    wanted: dict[tuple[str, str], Callable[[Any], bool]] = {
        ("--stream", workspace(served_host)): lambda one: one["stream"] == workspace(served_host),
        ("--actor", alice): lambda one: one["actor"]["id"] == alice,
        ("--action", "variable.create"): lambda one: one["action"] == "variable.create",
        ("--subject", made["id"]): lambda one: one["subject"]["id"] == made["id"],
    }
    for words, fits in wanted.items():
        found = lines(served_host.host.run("audit", "list", "--limit", 10000, *words))
        assert found == [one for one in whole if fits(one)]
        assert 0 < len(found) < len(whole)
    together = [word for words in wanted for word in words]
    (one,) = lines(served_host.host.run("audit", "list", *together))
    assert one["details"]["key"] == "filtered"


@HOST_ON_SQLITE
@pytest.mark.parametrize("cursor", ["", "x", "1/s", "x/s/1", "1//1", "1/s/x", "1/\u202e/1"])
def test_what_is_no_cursor_is_a_usage_error(served_host: ServedHost, cursor: str) -> None:
    done = served_host.host.run("audit", "list", "--before", cursor)
    assert done.code == 2
    assert "cursor" in done.err


def test_heads_kept_elsewhere_hold_as_the_trail_grows_and_show_a_rollback(
    served_host: ServedHost, tmp_path: Path
) -> None:
    change(served_host, "kept-1")
    heads = served_host.host.succeed("audit", "head").out
    kept = tmp_path / "heads"
    kept.write_text(heads)
    assert {"stream", "sequence", "link"} == set(json.loads(heads.splitlines()[0]))
    change(served_host, "kept-2")
    assert served_host.host.run("audit", "verify", "--heads", kept).code == 0
    # A head of a history that went on elsewhere: as after a restore of an older whole database.
    ahead = [
        json.loads(line) for line in served_host.host.succeed("audit", "head").out.splitlines()
    ]
    of_workspace = next(one for one in ahead if one["stream"] == workspace(served_host))
    of_workspace["sequence"] += 1
    kept.write_text("\n".join(map(json.dumps, ahead)))
    rolled_back = served_host.host.run("audit", "verify", "--heads", kept)
    assert rolled_back.code == 3
    assert f"{workspace(served_host)} entry {of_workspace['sequence']}: " in rolled_back.out
    assert "rollback" in rolled_back.out
    of_workspace["sequence"] -= 1
    of_workspace["link"] = "00" * 32
    kept.write_text("\n".join(map(json.dumps, ahead)))
    assert served_host.host.run("audit", "verify", "--heads", kept).code == 3


@HOST_ON_SQLITE
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "[]",
        '{"stream":"a","sequence":"x","link":"00"}',
        '{"stream":"a","sequence":9223372036854775808,"link":"00"}',
        '{"stream":"\\ud800","sequence":1,"link":"00"}',
        '{"stream":[],"sequence":1,"link":"00"}',
        '{"stream":"a","sequence":Infinity,"link":"00"}',
        pytest.param("[" * 100_000, id="nested"),
    ],
)
def test_a_file_of_other_things_than_heads_is_a_usage_error(
    served_host: ServedHost, tmp_path: Path, text: str
) -> None:
    (tmp_path / "heads").write_text(text)
    assert served_host.host.run("audit", "verify", "--heads", tmp_path / "heads").code == 2
    assert served_host.host.run("audit", "verify", "--heads", tmp_path / "none").code == 1


def test_an_export_has_every_entry_once_and_in_order(served_host: ServedHost) -> None:
    change(served_host, "exported")
    exported = lines(served_host.host.run("audit", "export"))
    listed = lines(served_host.host.run("audit", "list", "--limit", 10000))
    places = [(one["stream"], one["sequence"]) for one in exported]
    assert sorted(places) == sorted((one["stream"], one["sequence"]) for one in listed)
    for stream in {stream for stream, _ in places}:
        own = [one for one in exported if one["stream"] == stream]
        assert [one["sequence"] for one in own] == list(range(1, len(own) + 1))
        for before, after in pairwise(own):
            assert after["previous"] == before["link"]


def test_an_export_that_follows_tells_of_what_happens_later_and_ends_well(
    served_host: ServedHost,
) -> None:
    out, err = served_host.host.folder / "follow.out", served_host.host.folder / "follow.err"
    with out.open("w") as told, err.open("w") as said:
        following = served_host.host.start("audit", "export", "--follow", out=told, err=said)
        wait_for(out, "organization.create")
        made = change(served_host, "followed")
        wait_for(out, made["id"])
        following.send_signal(signal.SIGINT)
        assert following.wait(HANGS) == 0
    assert out.read_text().count(made["id"]) == 1
    assert re.fullmatch(r"Store: .*\n", err.read_text())


def is_told(err: Path, losses: int) -> bool:
    """Whether it is said once of each that the store is waited for."""
    return err.read_text().count("waited for") == losses


def follow_through(host: Host, lose: Callable[[], object], find: Callable[[], object]) -> None:
    """Follows the trail of a store that is lost and found meanwhile."""
    host.succeed("init")
    out, err = host.folder / "follow.out", host.folder / "follow.err"
    with out.open("w") as told, err.open("w") as said:
        following = host.start("audit", "export", "--follow", out=told, err=said)
        wait_for(out, "server-key.create")
        for losses in (1, 2):
            lose()
            wait_until(partial(is_told, err, losses), err.read_text)
            find()
            wait_for(out, host.succeed("keys", "add", "audit").out.strip())
        following.send_signal(signal.SIGINT)
        assert following.wait(HANGS) == 0
    assert sorted(out.read_text().splitlines()) == sorted(
        host.succeed("audit", "export").out.splitlines()
    )


def test_an_export_that_follows_waits_for_a_file_that_is_away(host: Host) -> None:
    file, away = host.data / "teamvars.db", host.data / "away"
    follow_through(host, lambda: file.rename(away), lambda: away.rename(file))


def test_an_export_that_follows_waits_for_a_postgresql_that_is_down(host: Host) -> None:
    with LocalPostgres(durable=True) as postgres:
        there = host.having(database_url=postgres.admin_url)
        follow_through(there, postgres.kill, postgres.start)


def wait_for(path: Path, text: str) -> None:
    wait_until(lambda: text in path.read_text(), path.read_text)


def test_an_entry_that_somebody_recomputed_without_the_keyring_is_named(
    served_host: ServedHost,
) -> None:
    change(served_host, "recomputed")
    last = lines(
        served_host.host.run("audit", "list", "--stream", workspace(served_host), "--limit", 1)
    )[0]
    where = f"WHERE stream_id = '{workspace(served_host)}' AND sequence = {last['sequence']}"
    execute(served_host.host, f"UPDATE audit_entries SET action = 'variable.read' {where}")  # noqa: S608
    touched = served_host.host.run("audit", "verify")
    assert touched.code == 3
    assert f"{workspace(served_host)} entry {last['sequence']}: " in touched.out
    execute(served_host.host, f"UPDATE audit_entries SET action = '{last['action']}' {where}")  # noqa: S608
    assert served_host.host.run("audit", "verify").code == 0
