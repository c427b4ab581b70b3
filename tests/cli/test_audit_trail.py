"""`audit list`, `head`, `export`, `verify --heads`: what leaves the house, and what it proves."""

import json
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Site
from tests.cli.store import execute
from tests.commands import Done


def lines(done: Done) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def change(site: Site, key: str) -> dict[str, Any]:
    """A variable, made over HTTP; returns its resource object."""
    attributes = {"key": key, "value": "v", "description": "", "category": "env"}
    with site.server.client(site.token) as client:
        answer = client.post(
            site.vars_path,
            json={"data": {"type": "vars", "attributes": attributes}},
            headers={"Content-Type": "application/vnd.api+json"},
        )
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def workspace(site: Site) -> str:
    id_: str = site.applied["organizations"]["acme"]["workspaces"]["network"]
    return id_


def test_a_cursor_goes_through_the_whole_list_without_a_gap_or_a_repetition(site: Site) -> None:
    change(site, "cursor-1")
    change(site, "cursor-2")
    whole = lines(site.host.run("audit", "list", "--limit", 10000))
    assert len(whole) > 4
    found: list[dict[str, Any]] = []
    while page := lines(
        site.host.run(
            *("audit", "list", "--limit", 3),
            *(("--before", found[-1]["cursor"]) if found else ()),
        )
    ):
        found += page
    assert found == whole
    assert [one["at"] for one in whole] == sorted((one["at"] for one in whole), reverse=True)


def test_filters_let_through_what_was_asked_for_and_nothing_else(site: Site) -> None:
    made = change(site, "filtered")
    whole = lines(site.host.run("audit", "list", "--limit", 10000))
    alice = site.applied["users"]["alice"]
    wanted: dict[tuple[str, str], Callable[[Any], bool]] = {
        ("--stream", workspace(site)): lambda one: one["stream"] == workspace(site),
        ("--actor", alice): lambda one: one["actor"]["id"] == alice,
        ("--action", "variable.create"): lambda one: one["action"] == "variable.create",
        ("--subject", made["id"]): lambda one: one["subject"]["id"] == made["id"],
    }
    for words, fits in wanted.items():
        found = lines(site.host.run("audit", "list", "--limit", 10000, *words))
        assert found == [one for one in whole if fits(one)]
        assert 0 < len(found) < len(whole)
    together = [word for words in wanted for word in words]
    (one,) = lines(site.host.run("audit", "list", *together))
    assert one["details"]["key"] == "filtered"


@pytest.mark.parametrize("cursor", ["", "x", "1/s", "x/s/1", "1//1", "1/s/x", "1/\u202e/1"])
def test_what_is_no_cursor_is_a_usage_error(site: Site, cursor: str) -> None:
    done = site.host.run("audit", "list", "--before", cursor)
    assert done.code == 2
    assert "cursor" in done.err


def test_heads_kept_elsewhere_hold_as_the_trail_grows_and_show_a_rollback(
    site: Site, tmp_path: Path
) -> None:
    change(site, "kept-1")
    heads = site.host.succeed("audit", "head").out
    kept = tmp_path / "heads"
    kept.write_text(heads)
    assert {"stream", "sequence", "link"} == set(json.loads(heads.splitlines()[0]))
    change(site, "kept-2")
    assert site.host.run("audit", "verify", "--heads", kept).code == 0
    # A head of a history that went on elsewhere: as after a restore of an older whole database.
    ahead = [json.loads(line) for line in site.host.succeed("audit", "head").out.splitlines()]
    of_workspace = next(one for one in ahead if one["stream"] == workspace(site))
    of_workspace["sequence"] += 1
    kept.write_text("\n".join(map(json.dumps, ahead)))
    rolled_back = site.host.run("audit", "verify", "--heads", kept)
    assert rolled_back.code == 3
    assert f"{workspace(site)} entry {of_workspace['sequence']}: " in rolled_back.out
    assert "rollback" in rolled_back.out
    of_workspace["sequence"] -= 1
    of_workspace["link"] = "00" * 32
    kept.write_text("\n".join(map(json.dumps, ahead)))
    assert site.host.run("audit", "verify", "--heads", kept).code == 3


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"stream":"a","sequence":"x","link":"00"}'])
def test_a_file_of_other_things_than_heads_is_a_usage_error(
    site: Site, tmp_path: Path, text: str
) -> None:
    (tmp_path / "heads").write_text(text)
    assert site.host.run("audit", "verify", "--heads", tmp_path / "heads").code == 2
    assert site.host.run("audit", "verify", "--heads", tmp_path / "none").code == 1


def test_an_export_has_every_entry_once_and_in_order(site: Site) -> None:
    change(site, "exported")
    exported = lines(site.host.run("audit", "export"))
    listed = lines(site.host.run("audit", "list", "--limit", 10000))
    places = [(one["stream"], one["sequence"]) for one in exported]
    assert sorted(places) == sorted((one["stream"], one["sequence"]) for one in listed)
    for stream in {stream for stream, _ in places}:
        own = [one for one in exported if one["stream"] == stream]
        assert [one["sequence"] for one in own] == list(range(1, len(own) + 1))
        for before, after in pairwise(own):
            assert after["previous"] == before["link"]


def test_an_export_that_follows_tells_of_what_happens_later_and_ends_well(site: Site) -> None:
    out, err = site.host.folder / "follow.out", site.host.folder / "follow.err"
    with out.open("w") as told, err.open("w") as said:
        following = site.host.start("audit", "export", "--follow", out=told, err=said)
        wait_for(out, "organization.create")
        made = change(site, "followed")
        wait_for(out, made["id"])
        following.send_signal(signal.SIGINT)
        assert following.wait(10) == 0
    assert out.read_text().count(made["id"]) == 1
    assert err.read_text() == ""


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 15
    while text not in path.read_text():
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.1)


def test_an_entry_that_somebody_recomputed_without_the_keyring_is_named(site: Site) -> None:
    change(site, "recomputed")
    last = lines(site.host.run("audit", "list", "--stream", workspace(site), "--limit", 1))[0]
    where = f"WHERE stream_id = '{workspace(site)}' AND sequence = {last['sequence']}"
    execute(site.host, f"UPDATE audit_entries SET action = 'variable.read' {where}")  # noqa: S608
    touched = site.host.run("audit", "verify")
    assert touched.code == 3
    assert f"{workspace(site)} entry {last['sequence']}: " in touched.out
    execute(site.host, f"UPDATE audit_entries SET action = '{last['action']}' {where}")  # noqa: S608
    assert site.host.run("audit", "verify").code == 0
