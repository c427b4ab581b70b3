"""`audit list` and `audit verify`, over a real store that somebody touches: contract §7."""

import json

from tests.cli.conftest import Site
from tests.cli.store import execute


def test_the_trail_names_operators_and_callers_and_what_they_did(site: Site) -> None:
    attributes = {"key": "trail", "value": "s3cr3t-value", "description": "", "category": "env"}
    headers = {"Content-Type": "application/vnd.api+json", "X-Request-Id": "trail-1"}
    with site.server.client(site.token) as client:
        document = {"data": {"type": "vars", "attributes": attributes}}
        made = client.post(site.vars_path, json=document, headers=headers)
        assert client.delete(made.headers["Location"]).status_code == 204
    done = site.host.succeed("audit", "list", "--limit", "10000")
    assert "s3cr3t-value" not in done.out
    entries = [json.loads(line) for line in done.out.splitlines()]
    created = next(entry for entry in entries if entry["request"] == "trail-1")
    assert created["action"] == "variable.create"
    assert created["actor"] == {"type": "user", "id": site.applied["users"]["alice"]}
    assert created["details"]["key"] == "trail"
    assert any(entry["actor"]["type"] == "operator" for entry in entries)
    assert len(site.host.succeed("audit", "list", "--limit", "1").out.splitlines()) == 1
    assert site.host.run("audit", "list", "--limit", "0").code == 2


def test_verify_exits_with_3_once_somebody_has_touched_the_trail(site: Site) -> None:
    untouched = site.host.succeed("audit", "verify")
    assert untouched.out == ""
    assert "streams hold" in untouched.err
    tamper = "UPDATE audit_entries SET subject_id = '{}' WHERE subject_id = '{}'"
    team = site.applied["organizations"]["acme"]["teams"]["platform"]
    execute(site.host, tamper.format("team-another", team))
    touched = site.host.run("audit", "verify")
    execute(site.host, tamper.format(team, "team-another"))
    assert touched.code == 3
    assert "the entry was altered or replaced" in touched.out
    assert site.host.run("audit", "verify").code == 0
