"""`vars search`: what is where, in every workspace and set one may read."""

from urllib.parse import unquote

from tests.cli.client.conftest import Service
from tests.cli.client.stubs import Answer, answering
from tests.support.desk import Desk


def test_variables_are_found_by_the_beginning_of_their_keys(
    desk: Desk, service: Service, office: str
) -> None:
    desk.succeed("vars", "set", "DB_HOST=a", "DB_PORT=1", "OTHER=x", "-w", "network")
    desk.succeed("vars", "set", "DB_HOST", "--sensitive", "-w", "payments", given="topsecret")
    found = desk.succeed("vars", "search", "DB_*", "--values").out.splitlines()
    assert [line.split() for line in found] == [
        ["DB_HOST", "network", "env", "a"],
        ["DB_HOST", "payments", "env", "sensitive"],
        ["DB_PORT", "network", "env", "1"],
    ]
    assert desk.succeed("vars", "search", "OTHER").out.split() == ["OTHER", "network", "env"]
    rows = desk.succeed("vars", "search", "--sensitive", "--json").json
    assert [(row["key"], row["workspace-name"]) for row in rows] == [("DB_HOST", "payments")]
    rows = desk.succeed("vars", "search", "DB_HOST", "-w", "network", "--json").json
    assert [row["workspace-name"] for row in rows] == ["network"]
    assert "value" not in rows[0]
    rows = desk.succeed("vars", "search", "--part", "b_host", "--json").json
    assert [row["workspace-name"] for row in rows] == ["network", "payments"]
    assert desk.succeed("vars", "search", "--part", "Her").out.split()[:1] == ["OTHER"]
    assert "Nothing like that" in desk.succeed("vars", "search", "D*", "--part", "her").err
    assert "Keys with it in them: --part host" in desk.succeed("vars", "search", "host").err
    # What a setting says narrows no search.
    assert len(desk.having(workspace="network").succeed("vars", "search").out.splitlines()) == 4
    erin = desk.having(address=service.url, token=service.tokens["erin"], organization=office)
    assert erin.succeed("vars", "search", "DB_*").out.split()[:2] == ["DB_HOST", "payments"]
    assert "Nothing like that" in desk.succeed("vars", "search", "NONE").err


def test_a_workspace_that_is_none_is_not_said_to_have_nothing_like_that(desk: Desk) -> None:
    for name, code in {"nowhere": 5, "net*": 2, "network,payments": 2}.items():
        done = desk.run("vars", "search", "-w", name)
        assert (done.code, "Nothing like that" in done.err) == (code, False)


def test_a_search_goes_on_from_page_to_page_as_far_as_it_is_wanted(desk: Desk) -> None:
    path = desk.folder / "many.env"
    path.write_text("".join(f"KEY_{number:03}=x\n" for number in range(250)))
    desk.succeed("vars", "import", path, "--yes", "-w", "network")
    found = desk.succeed("vars", "search", "KEY_*").out.splitlines()
    assert [line.split()[0] for line in found] == [f"KEY_{number:03}" for number in range(250)]
    some = desk.succeed("vars", "search", "--limit", "7")
    assert len(some.out.splitlines()) == 7
    assert "more than 7" in some.err


def test_what_a_set_has_is_found_with_its_name(desk: Desk, service: Service, office: str) -> None:
    desk.succeed("set", "create", "Cloud keys")
    desk.succeed("vars", "set", "CLOUD_ID=a", "--set", "Cloud keys", "--yes")
    desk.succeed("vars", "set", "CLOUD_ID=b", "-w", "network")
    found = [line.split() for line in desk.succeed("vars", "search", "CLOUD_*").out.splitlines()]
    assert found == [["CLOUD_ID", "set", "Cloud", "keys", "env"], ["CLOUD_ID", "network", "env"]]
    (first, second) = desk.succeed("vars", "search", "CLOUD_*", "--json").json
    assert (first["varset-name"], second["varset-name"]) == ("Cloud keys", "")
    alone = desk.succeed("vars", "search", "CLOUD_*", "-w", "network").out.split()
    assert alone == ["CLOUD_ID", "network", "env"]
    erin = desk.having(address=service.url, token=service.tokens["erin"], organization=office)
    assert "Nothing like that" in erin.succeed("vars", "search", "CLOUD_*").err


def older(path: str, _: bytes) -> Answer:
    """What a service of the previous release says, which has one variable and knows no sets."""
    if "varset-name" in unquote(path):
        unknown = "fields[vars] knows key, category, not 'varset-name'."
        fault = {"status": "400", "code": "invalid_parameter", "detail": unknown}
        return 400, {"errors": [fault]}
    attributes = {"key": "OLD", "category": "env", "hcl": False, "sensitive": False}
    one = {"type": "vars", "id": "var-1", "attributes": {**attributes, "workspace-name": "network"}}
    return 200, {"data": [one], "links": {"next": None}}


def test_a_service_of_the_previous_release_is_searched_without_sets(
    desk: Desk, service: Service
) -> None:
    with answering(older) as url:
        visitor = desk.having(address=url, token=service.tokens["alice"], organization="acme")
        assert visitor.succeed("vars", "search").out.split() == ["OLD", "network", "env"]
        (row,) = visitor.succeed("vars", "search", "--json").json
        assert row["varset-name"] == ""
