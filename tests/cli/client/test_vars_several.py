"""`vars` of several workspaces at once, and what cannot be compared."""

import json
from collections.abc import Callable

import httpx
import pytest

from teamvars.cli.client.api import Api
from teamvars.cli.client.changes import How, Work, carried_out
from teamvars.cli.client.contents import Contents, Owner
from tests.cli.client.conftest import Service
from tests.cli.client.stubs import Answer, answering
from tests.cli.client.test_vars import values
from tests.cli.client.test_vars_files import file
from tests.support.desk import Desk

BOTH = ("-w", "net*,pay*")


def test_what_is_not_there_is_deleted_where_several_workspaces_are_meant(desk: Desk) -> None:
    desk.succeed("vars", "set", "OLD=1", "KEEP=1", "-w", "network")
    done = desk.succeed("vars", "unset", "OLD", "NEVER", *BOTH, "--yes")
    assert "network: 1 deleted." in done.err
    assert "None of these workspaces has a variable NEVER." in done.err
    assert "variable OLD" not in done.err
    assert values(desk, "network") == {"KEEP": "1"}
    assert "nothing to change" in desk.succeed("vars", "unset", "OLD", *BOTH, "--yes").err
    assert desk.run("vars", "unset", "OLD", "-w", "network", "--yes").code == 5


def test_variables_become_sensitive_with_their_values_once_they_were_counted(desk: Desk) -> None:
    desk.succeed("vars", "set", "PIN=1", "KEEP=1", "-w", "network")
    desk.succeed("vars", "set", "PIN=2", "-w", "payments")
    with desk.terminal("vars", "make-sensitive", "PIN", *BOTH) as terminal:
        terminal.expect("Nobody can read these 2 values again.")
        terminal.expect("network:")
        terminal.expect("~ *PIN +env +sensitive")
        terminal.expect("payments:")
        terminal.expect(r"Make these 2 changes in 2 workspaces\? \[y/N\] ")
        terminal.type("n")
        assert terminal.wait() == 1
    assert values(desk, "network") == {"PIN": "1", "KEEP": "1"}
    tried = desk.run("vars", "make-sensitive", "PIN", *BOTH, "--dry-run")
    assert tried.code == 3
    assert "Nobody could read these 2 values again." in tried.err
    done = desk.succeed("vars", "make-sensitive", "PIN", "NEVER", *BOTH, "--yes")
    assert "None of these workspaces has a variable NEVER." in done.err
    assert values(desk, "network") == {"PIN": None, "KEEP": "1"}
    assert values(desk, "payments") == {"PIN": None}
    again = desk.succeed("vars", "make-sensitive", "PIN", *BOTH, "--yes").err
    assert "nothing to change" in again
    assert "Nobody can read" not in again
    assert desk.run("vars", "make-sensitive", "NEVER", "-w", "network", "--yes").code == 5


def test_the_variables_of_several_workspaces_are_listed_and_shown(desk: Desk) -> None:
    desk.succeed("vars", "set", "REGION=eu", "ZONE=a", "-w", "network")
    desk.succeed("vars", "set", "REGION=us", "-w", "payments")
    listed = [line.split()[:4] for line in desk.succeed("vars", "list", *BOTH).out.splitlines()]
    assert listed == [
        ["network", "REGION", "env", "eu"],
        ["network", "ZONE", "env", "a"],
        ["payments", "REGION", "env", "us"],
    ]
    rows = desk.succeed("vars", "get", "REGION", *BOTH, "--json").json
    assert [(row["workspace"], row["value"]) for row in rows] == [
        ("network", "eu"),
        ("payments", "us"),
    ]
    one = desk.succeed("vars", "get", "ZONE", *BOTH, "--debug")
    assert one.err.count(": 200 ") == 2  # which workspaces, and who has it
    assert one.out.split()[:2] == ["network", "ZONE"]
    assert "payments has no variable ZONE." in one.err
    assert desk.run("vars", "get", "NONE", *BOTH).code == 5
    assert desk.run("vars", "get", "ZONE", *BOTH, "--plain").code == 2


def test_the_history_of_several_workspaces_is_one_newest_first(desk: Desk) -> None:
    for value, workspace in (("1", "network"), ("1", "payments"), ("2", "network")):
        desk.succeed("vars", "set", f"KEY={value}", "-w", workspace)
    lines = desk.succeed("vars", "history", "KEY", *BOTH).out.splitlines()
    assert [(line.split()[0], line.split()[4]) for line in lines] == [
        ("network", "update"),
        ("payments", "create"),
        ("network", "create"),
    ]
    events = desk.succeed("vars", "history", "KEY", *BOTH, "--limit", "2", "--json").json
    assert [event["workspace"] for event in events] == ["network", "payments"]


def test_the_difference_of_several_workspaces_says_where(desk: Desk) -> None:
    path = file(desk, "prod.env", "REGION=eu\n")
    desk.succeed("vars", "set", "REGION=us", "OTHER=1", "-w", "network")
    done = desk.run("vars", "diff", path, *BOTH)
    assert done.code == 3
    assert [line.split() for line in done.out.splitlines()] == [
        ["network", "~", "REGION", "env", "us", "->", "eu"],
        ["payments", "+", "REGION", "env", "eu"],
    ]
    assert "network has 1 more" in done.err
    before_after = [
        (row["workspace"], row["before"] and row["before"]["value"], row["after"]["value"])
        for row in json.loads(desk.run("vars", "diff", path, *BOTH, "--json").out)
    ]
    assert before_after == [("network", "us", "eu"), ("payments", None, "eu")]


def test_what_nobody_can_compare_is_no_difference_and_is_sent_again_unless_it_is_skipped(
    network: Desk,
) -> None:
    network.succeed("vars", "set", "PIN", "--sensitive", given="topsecret")
    version = network.succeed("vars", "get", "PIN", "--json").json["version-id"]
    path = file(network, "prod.env", "")
    for guess in ("topsecret", "another"):
        file(network, "prod.env", f"PIN={guess}\n")
        done = network.succeed("vars", "diff", path)
        assert done.out.split() == ["?", "PIN", "env", "sensitive,", "cannot", "be", "compared"]
        assert "1 sensitive value cannot be compared" in done.err
        skipped = network.succeed("vars", "apply", path, "--skip-sensitive", "--yes")
        assert "1 sensitive variable is left as it is" in skipped.err
    assert network.succeed("vars", "get", "PIN", "--json").json["version-id"] == version
    network.succeed("vars", "apply", path, "--yes")
    assert network.succeed("vars", "get", "PIN", "--json").json["version-id"] != version


def test_an_empty_name_between_commas_is_refused(desk: Desk) -> None:
    for words in (",", "network,", "network,,payments"):
        done = desk.run("vars", "unset", "KEY", "--yes", "-w", words)
        assert done.code == 2
        assert "--workspace has an empty name between its commas." in done.err


def test_what_was_not_done_is_told_as_what_would_be(network: Desk) -> None:
    (network.folder / "a.env").write_text("A=1\nB=2\n")
    network.succeed("vars", "set", "A=0")
    expected = "network: 1 would be created, 1 would be updated."
    for words in (("diff", "a.env"), ("import", "a.env", "--dry-run")):
        done = network.run("vars", *words)
        assert done.code == 3
        assert expected in done.err.splitlines()


def test_what_a_key_is_in_many_workspaces_is_asked_once(desk: Desk) -> None:
    for name in ("network", "payments"):
        desk.succeed("vars", "set", "KEY=1", "OTHER=2", "-w", name)
    done = desk.succeed("vars", "set", "KEY=3", *BOTH, "--yes", "--debug")
    asked = [line.partition(":")[0].partition("?")[0] for line in done.err.splitlines()]
    reads = [line.rpartition("/")[2] for line in asked if line.startswith("GET /")]
    assert reads == ["workspaces", "vars"]
    shown = desk.succeed("vars", "get", "KEY", *BOTH, "--debug")
    assert [line.split() for line in shown.out.splitlines()] == [
        ["network", "KEY", "env", "3"],
        ["payments", "KEY", "env", "3"],
    ]
    gone = desk.succeed("vars", "unset", "KEY", *BOTH, "--yes")
    assert gone.err.count("-  KEY") == 2
    # The beginning of keys is no key.
    assert desk.run("vars", "unset", "O*", *BOTH, "--yes").err.count("OTHER") == 0


NAMES = [f"w-{number}" for number in range(40)]


class Many:
    """A service of many workspaces without variables; each apply, in a workspace by its name, of
    an item, is answered as the test says.
    """

    def __init__(self, answer: Callable[[str, dict[str, str]], Answer]) -> None:
        self._answer = answer
        self.applies = 0

    def tell(self, path: str, sent: bytes) -> Answer:
        """What it says to a request."""
        if sent:
            self.applies += 1
            (item,) = json.loads(sent)["data"]
            return self._answer(path.split("/")[4], item["attributes"])
        if "/vars?" in path:
            return 200, {"data": [], "links": {"next": None}}
        return 200, {"data": [{"id": name, "attributes": {"name": name}} for name in NAMES]}


DONE: Answer = 200, {"meta": {"results": []}}


def set_everywhere(stranger: Desk, service: Many, *more: str) -> tuple[int, list[str]]:
    """The exit code of setting a variable there, and what is said."""
    with answering(service.tell) as url:
        desk = stranger.having(address=url, token="tvu_any", organization="acme")
        done = desk.run("vars", "set", "A=1", "-w", "w-*", "--yes", *more)
    return done.code, done.err.splitlines()


def refused(pointer: str | None = None) -> dict[str, object]:
    """The document of a refusal."""
    return {"errors": [{"code": "any", "detail": "It is refused.", "source": {"pointer": pointer}}]}


def test_what_fails_is_listed_at_the_end_and_what_is_wrong_once(stranger: Desk) -> None:
    service = Many(lambda name, _: DONE if name == NAMES[-1] else (422, refused()))
    code, lines = set_everywhere(stranger, service)
    assert (code, service.applies) == (7, 40)
    assert lines[-4:] == [
        "w-39: 1 created.",
        f"{', '.join(NAMES[:-1])}: failed, and nothing was changed there.",
        "It is refused.",
        "teamvars: 39 of 40 workspaces failed. Run the command again to do the rest.",
    ]


@pytest.mark.parametrize(
    ("status", "code", "told"), [(401, 4, "does not take the token"), (520, 12, "Nobody knows")]
)
def test_nothing_more_is_tried_once_the_token_has_ended_or_the_service_has_gone(
    stranger: Desk, status: int, code: int, told: str
) -> None:
    service = Many(lambda *_: (status, refused() if status < 500 else {}))
    ended, lines = set_everywhere(stranger, service)
    assert ended == code
    assert sum(told in line for line in lines) == 1
    assert "Not tried, after the failures above." in lines
    assert "40 of 40 workspaces failed" in lines[-1]
    assert service.applies <= 8  # as many are under way at a time


def test_how_a_service_calls_the_tools_own_variables_is_not_found_out_in_each_workspace(
    stranger: Desk,
) -> None:
    def answer(_: str, said: dict[str, str]) -> Answer:
        is_known = said["category"] == "terraform"
        return DONE if is_known else (422, refused("/data/0/attributes/category"))

    service = Many(answer)
    assert set_everywhere(stranger, service, "--category", "tool")[0] == 0
    assert 40 < service.applies <= 48  # once on each connection


class Closed(Api):
    """What can make no further connection."""

    def __init__(self) -> None:
        """Has no target: nothing is sent."""

    def announce(self, what: str | None = None) -> None:
        """Says nothing."""

    def beside(self) -> Api:
        raise SystemExit(130)


def test_whatever_ends_a_thread_that_sends_ends_the_command() -> None:
    work = [Work(Contents(Owner("ws-1", "network"), (), None, "tool"), [])] * 2
    with pytest.raises(SystemExit):
        carried_out(Closed(), work, How(dry_run=True, yes=True))


def test_a_workspace_is_the_same_by_its_id(desk: Desk, service: Service, acme: str) -> None:
    ids = {one["name"]: one["id"] for one in desk.succeed("workspace", "list", "--json").json}
    by_id = desk.having(workspace=ids["network"])
    assert by_id.succeed("vars", "set", "A=1").err.endswith("\nnetwork: 1 created.\n")
    both = f"{ids['network']},payments"
    listed = desk.succeed("vars", "list", "-w", both, "--json").json
    assert [(one["workspace"], one["key"]) for one in listed] == [("network", "A")]
    found = desk.succeed("vars", "search", "-w", ids["network"], "--json").json
    assert [(one["workspace-name"], one["key"]) for one in found] == [("network", "A")]
    desk.succeed("set", "create", "Cloud")
    desk.succeed("set", "attach", "Cloud", *ids.values(), "--yes")
    assert desk.succeed("set", "show", "Cloud", "--json").json["workspaces"] == [*ids]
    # Of another organization it is none.
    refused = by_id.having(organization=acme).run("vars", "list")
    assert (refused.code, refused.out) == (5, "")
    assert f"There is no workspace {acme}/{ids['network']}" in refused.err


def test_the_id_of_a_workspace_says_its_organization_where_nothing_else_does(
    stranger: Desk, service: Service, office: str
) -> None:
    alice = stranger.having(address=service.url, token=service.tokens["alice"])
    of_office = alice.having(organization=office)
    one, other = of_office.succeed("workspace", "list", "--json").json
    by_id = alice.having(workspace=one["id"])
    by_id.succeed("vars", "set", "A=1")
    assert by_id.succeed("vars", "get", "A", "--json").json["value"] == "1"
    (row,) = of_office.succeed("vars", "list", "-w", one["name"], "--json").json
    assert row["key"] == "A"
    (found,) = by_id.succeed("vars", "search", "A", "--json").json
    assert found["workspace-name"] == one["name"]
    both = f"{one['id']},{other['name']}"
    alice.succeed("vars", "set", "A=2", "-w", both, "--yes")
    assert len(of_office.succeed("vars", "list", "-w", "*", "--json").json) == 2
    unknown = alice.run("vars", "list", "-w", "ws-1234567891234567")
    assert (unknown.code, "Nothing says which organization" in unknown.err) == (2, True)


def test_a_workspace_may_have_the_form_of_an_id_for_its_name(
    desk: Desk, service: Service, office: str
) -> None:
    name = "ws-1234567891234567"
    make(service, office, name)
    desk.succeed("vars", "set", "A=1", "-w", name)
    assert [one["key"] for one in desk.succeed("vars", "list", "-w", name, "--json").json] == ["A"]


def test_of_several_workspaces_none_is_meant_by_the_id_of_another(
    desk: Desk, service: Service, office: str
) -> None:
    ids = {one["name"]: one["id"] for one in desk.succeed("workspace", "list", "--json").json}
    make(service, office, ids["network"])
    desk.succeed("vars", "set", "A=1", "-w", f"{ids['network']},payments", "--yes")
    listed = desk.succeed("vars", "list", "-w", "*", "--json").json
    assert {one["workspace"] for one in listed} == {"network", "payments"}


def make(service: Service, organization: str, name: str) -> None:
    """Makes a workspace, as no command does."""
    made = httpx.post(
        f"{service.url}/api/v2/organizations/{organization}/workspaces",
        content=json.dumps({"data": {"type": "workspaces", "attributes": {"name": name}}}),
        headers={
            "Authorization": f"Bearer {service.tokens['alice']}",
            "Content-Type": "application/vnd.api+json",
        },
    )
    assert made.status_code == 201
