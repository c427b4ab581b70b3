"""What a workspace gets of variable sets: listed, explained, written as a file, and run with."""

from typing import Any

import httpx
import pytest

from tests.cli.client.conftest import Service
from tests.cli.client.test_run import seen
from tests.support.desk import Desk
from tests.support.tenant import JSON_API, variable_document


@pytest.fixture
def shared(network: Desk, service: Service, office: str) -> Desk:
    """Alice's desk, whose `network` has `A`, and gets another `A` and `B` of a set for all."""
    headers = {"Authorization": f"Bearer {service.tokens['alice']}", "Content-Type": JSON_API}
    with httpx.Client(base_url=f"{service.url}/api/v2", headers=headers) as client:
        attributes = {"name": "for all", "global": True}
        document: Any = {"data": {"type": "varsets", "attributes": attributes}}
        made = client.post(f"/organizations/{office}/varsets", json=document).json()["data"]["id"]
        for key in ("A", "B"):
            body = variable_document(key=key, value=f"{key} of the set", category="env")
            answer = client.post(f"/varsets/{made}/relationships/vars", json=body)
            assert answer.status_code == 201, answer.text
    network.succeed("vars", "set", "A=own")
    return network


def test_what_is_gotten_is_listed_with_what_it_overrides(shared: Desk) -> None:
    own = [one["key"] for one in shared.succeed("vars", "list", "--json").json]
    assert own == ["A"]
    lines = shared.succeed("vars", "list", "--effective").out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "A env own from workspace network (workspace)",
        "A env not A of the set from variable set for all (global)",
        "B env B of the set from variable set for all (global)",
    ]
    found = shared.succeed("vars", "list", "--effective", "--json").json
    assert [(one["key"], one["level"]) for one in found] == [("A", "workspace"), ("B", "global")]
    assert shared.succeed("vars", "list", "--effective", "--category", "tool").out == ""


def test_why_says_by_which_rule_a_value_counts(shared: Desk) -> None:
    lines = shared.succeed("vars", "why", "A").out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "env own from workspace network (workspace)",
        "not A of the set from variable set for all (global): workspace comes before global",
    ]
    assert shared.run("vars", "why", "NONE").code == 5


def test_a_command_and_a_file_get_what_counts(shared: Desk) -> None:
    environment = seen(shared)
    assert (environment["A"], environment["B"]) == ("own", "B of the set")
    explained = shared.succeed("run", "--explain").out
    assert "from for all" in explained
    assert "from network" in explained
    assert "B" not in shared.succeed("vars", "export", "--format", "dotenv").out
    written = shared.succeed("vars", "export", "--format", "dotenv", "--effective").out
    assert "B of the set" in written
