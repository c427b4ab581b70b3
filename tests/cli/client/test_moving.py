"""`migrate-from hcp`: another service's organization moves in, and a second run does nothing."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from teamvars.cli.operator.directory_file import read
from teamvars.services.directory_files.files import Options
from tests.cli.client.conftest import Service
from tests.cli.client.hcp import (
    Hcp,
    binding,
    project,
    resource,
    team,
    team_project,
    team_workspace,
    variable,
    variable_set,
    workspace,
)
from tests.cli.client.stubs import Answer, answering
from tests.cli.client.test_sending import CutWire
from tests.support.commands import Host
from tests.support.deployment import operator
from tests.support.desk import Desk
from tests.support.patience import HANGS
from tests.support.server import Server

DIRECTORY = """\
users:
  - {username: root, email: root@example.com}
  - {username: zoe, email: zoe@example.com}
  - {username: dave, email: dave@example.com}
organizations:
  - name: there
    members: {root: active, zoe: active, dave: active}
    projects: [{name: Web shop, tag-bindings: {dept: shop}}, Data lake]
    workspaces:
      - {name: network, project: Web shop, tag-names: [live], tag-bindings: {region: eu}}
      - {name: lake, project: Data lake}
      - plain
    teams:
      - {name: owners, members: [root]}
      - name: platform
        visibility: organization
        manage-workspaces: true
        members: [zoe, dave]
        workspaces: {lake: write, plain: read}
        projects:
          Web shop:
            project-access: {variable-sets: write}
            workspace-access: {variables: write, runs: plan}
      - {name: Readers, visibility: secret, workspaces: {network: read}}
    variable-sets:
      - {name: Cloud, description: for all, global: true}
      - {name: Shared, priority: true, workspaces: [lake, plain], projects: [Web shop]}
      - {name: Of the shop, project: Web shop, workspaces: [network]}
"""
VARIABLES = (
    ("-w", "network", "REGION=eu", "EMPTY="),
    ("-w", "network", "ports=[80, 443]", "--hcl", "--description", "what is open"),
    ("-w", "lake", "SIZE=12"),
    ("--set", "Cloud", "ACCOUNT=4711"),
    ("--set", "Shared", "LEVEL=info"),
)


@dataclass(frozen=True)
class There:
    """A service in the dialect of HCP Terraform, and the token of an owner of `there`."""

    url: str
    token: str


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    """The same for all tests: they only read it."""
    host = Host(tmp_path_factory.mktemp("there")).having(log_format="json", dialect="terraform")
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    token = host.succeed("token", "create", "--user", "root").out.strip()
    with Server(host) as server:
        asking = host.having(address=server.url, token=token, organization="there")
        for words in VARIABLES:
            asking.succeed("vars", "set", *words, "--yes")
        for where in (("-w", "network"), ("--set", "Shared")):
            asking.succeed("vars", "set", "PASSWORD", "--sensitive", "--yes", *where, given="hush")
        yield There(server.url, token)


Move = Callable[..., Any]


@pytest.fixture
def move(desk: Desk, there: There, office: str, monkeypatch: pytest.MonkeyPatch) -> Move:
    """Runs the command at the desk of alice, who owns an office with some of the same names."""
    monkeypatch.setenv("TFE_TOKEN", there.token)

    def run(*words: object, address: str = there.url) -> Any:
        source = ("--source-address", address, "--source-organization", "there")
        return desk.run("migrate-from", "hcp", *source, *words)

    return run


def variables(desk: Desk, *where: str) -> dict[str, Any]:
    """Values by key, None where nobody can read one."""
    listed = desk.succeed("vars", "list", *where, "--json").json
    return {one["key"]: one["value"] for one in listed}


def test_an_organization_moves_in_and_a_second_run_does_nothing(move: Move, desk: Desk) -> None:
    desk.succeed("vars", "set", "REGION=us", "OWN=1", "-w", "network")
    secrets = desk.folder / "secrets.json"
    dry = move("--secrets", secrets, "--dry-run")
    assert dry.code == 3, dry.err
    assert "Fill in" in dry.err
    assert " workspaces and sets.\n" in dry.err
    assert "hush" not in dry.out + dry.err
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert len(desk.succeed("workspace", "list").out.splitlines()) == 2
    told = [re.split(r"\s{2,}", line) for line in dry.out.splitlines()]
    for line in (
        ["+", "set", "Shared", "priority, 2 workspaces, 1 project"],
        ["+", "access to a workspace", "platform on lake", "access write"],
        ["+", "project", "Web shop", "tags dept=shop"],
        ["~", "workspace", "network", "project, tags live region=eu"],
        ["~", "variables", "workspace network", "REGION"],
    ):
        assert line in told, dry.out
    done = move("--secrets", secrets, "--yes")
    assert done.code == 0, done.err
    again = move("--secrets", secrets, "--dry-run", "--json")
    assert again.code == 0, again.out + again.err
    assert (again.json["steps"], again.json["variables"]) == ([], [])
    assert variables(desk, "-w", "network") == {
        "EMPTY": "",
        "OWN": "1",
        "REGION": "eu",
        "ports": "[80, 443]",
    }
    assert variables(desk, "--set", "Cloud") == {"ACCOUNT": "4711"}
    filled = json.loads(secrets.read_text())
    for one in filled["variables"]:
        assert one["value"] is None
        one["value"] = "shown to nobody"
    secrets.write_text(json.dumps(filled))
    assert move("--secrets", secrets, "--yes").code == 0
    assert variables(desk, "--set", "Shared") == {"LEVEL": "info", "PASSWORD": None}
    last = move("--secrets", secrets, "--yes")
    assert (last.code, "There is nothing to change." in last.err) == (0, True), last.err


def tags_of_network(service: Service, office: str) -> Any:
    """Names, and keys with their values."""
    with httpx.Client(
        base_url=f"{service.url}/api/v2",
        headers={"Authorization": f"Bearer {service.tokens['alice']}"},
        timeout=HANGS,
    ) as asking:
        shown = asking.get(f"/organizations/{office}/workspaces/network").json()["data"]
        bound = asking.get(f"/workspaces/{shown['id']}/tag-bindings").json()["data"]
    pairs = (one["attributes"] for one in bound)
    return shown["attributes"]["tag-names"], {one["key"]: one["value"] for one in pairs}


async def test_tags_there_are_added_to_those_here_which_stay_and_are_named(
    move: Move, desk: Desk, service: Service, office: str
) -> None:
    tags = "tag-names: [own, live], tag-bindings: {region: us, tier: gold}"
    file = desk.folder / "tags.yaml"
    file.write_text(f"organizations: [{{name: {office}, workspaces: [{{name: network, {tags}}}]}}]")
    await service.served.services.directory.apply(operator(), read(file), Options())
    dry = move("--dry-run", "--json")
    assert dry.json["kept"] == ["workspace network: own tier=gold"]
    assert "Only here, and kept: tags of workspace network: own tier=gold." in dry.err
    (network,) = [one for one in dry.json["steps"] if one["name"] == "network"]
    assert network["changed"] == "project, tags region=eu"
    assert move("--yes").code == 0
    merged = (["live", "own"], {"region": "eu", "tier": "gold"})
    assert tags_of_network(service, office) == merged
    again = move("--yes", "--json")
    assert (again.json["steps"], again.json["kept"]) == ([], dry.json["kept"])


def test_members_are_invited_only_if_that_is_asked_for(move: Move, desk: Desk) -> None:
    def platform() -> list[str]:
        listed = desk.succeed("team", "members", "platform", "--json").json
        return sorted(one["email"] for one in listed)

    assert move("--yes").code == 0
    assert platform() == ["bob@example.com"]
    done = move("--invite", "--yes")
    assert done.code == 0, done.err
    assert "+ invitation zoe@example.com" in done.err
    assert "invitation dave@example.com" not in done.err, "dave is a member already"
    assert platform() == ["bob@example.com", "dave@example.com", "zoe@example.com"]
    last = move("--invite", "--yes")
    assert (last.code, "There is nothing to change." in last.err) == (0, True), last.err


def test_a_sensitive_variable_here_stays_and_one_of_theirs_becomes_sensitive(
    move: Move, desk: Desk
) -> None:
    desk.succeed("vars", "set", "REGION", "--sensitive", "-w", "network", given="mine")
    desk.succeed("vars", "set", "PASSWORD=known", "-w", "network", "--yes")
    done = move("--yes", "--json")
    assert done.code == 0, done.err
    of_network = [one for one in done.json["variables"] if one["name"] == "network"]
    assert {one["key"]: one["outcome"] for one in of_network} == {
        "EMPTY": "created",
        "PASSWORD": "updated",
        "ports": "created",
    }
    assert variables(desk, "-w", "network")["PASSWORD"] is None
    assert [(one["name"], one["key"]) for one in done.json["missing"]] == [("Shared", "PASSWORD")]


@pytest.fixture
def hcp() -> Hcp:
    """What a test may change before it is asked."""
    return Hcp()


def test_answers_of_hcp_terraform_are_read_page_by_page(move: Move, desk: Desk, hcp: Hcp) -> None:
    hcp.busy = 2
    with answering(hcp.tell) as url:
        dry = move("--dry-run", address=url)
        assert dry.code == 3, dry.err
        assert dry.err.count("answered 429. Sending it again.") == 2
        assert "project-access/settings, project-access/teams, workspace-access/create" in dry.err
        assert ["+", "team", "ops", "visibility"] in [
            line.split()[:4] for line in dry.out.splitlines()
        ]
        assert move("--yes", address=url).code == 0
        again = move("--yes", address=url)
        assert (again.code, "There is nothing to change." in again.err) == (0, True), again.err
    assert variables(desk, "-w", "vpc") == {"cidr": "10.0.0.0/8", "zones": '["a"]'}
    assert variables(desk, "--set", "Cloud") == {"KEY_0": "0", "KEY_1": "1", "KEY_2": "2"}
    effective = desk.succeed("vars", "list", "-w", "dns", "--effective", "--json").json
    assert len(effective) == 3


def test_what_is_filled_in_while_it_reads_stays(move: Move, desk: Desk, hcp: Hcp) -> None:
    secret = {"value": None, "sensitive": True, "category": "env"}
    hcp.answers["workspaces/ws-1/vars"].append(variable("var-4", "LATER", **secret))
    secrets = desk.folder / "secrets.json"
    item = {"type": "workspaces", "name": "vpc", "key": "TOKEN", "category": "env", "value": None}
    secrets.write_text(json.dumps({"variables": [item]}))
    filled = json.dumps({"variables": [{**item, "value": "hush"}]})

    def tell(path: str, sent: bytes) -> Answer:
        secrets.write_text(filled)
        return hcp.tell(path, sent)

    with answering(tell) as url:
        assert move("--dry-run", "--secrets", secrets, address=url).code == 3
        kept = {one["key"]: one["value"] for one in json.loads(secrets.read_text())["variables"]}
        assert kept == {"TOKEN": "hush", "LATER": None}
        filled = "what somebody is still typing"
        refused = move("--yes", "--secrets", secrets, address=url)
    assert (refused.code, secrets.read_text()) == (7, filled)
    assert "vpc" not in desk.succeed("workspace", "list").out


def test_what_has_no_variables_there_is_not_asked_for_them_here(
    move: Move, desk: Desk, hcp: Hcp
) -> None:
    with answering(hcp.tell) as url:
        assert move("--yes", address=url).code == 0
        again = move("--yes", "--debug", address=url)
    asked = re.findall(r"^GET /api/v2/workspaces/([^/?]+)/vars\b", again.err, re.MULTILINE)
    ids = {one["name"]: one["id"] for one in desk.succeed("workspace", "list", "--json").json}
    assert [*dict.fromkeys(asked)] == ["ws-1", "ws-2", ids["vpc"]], again.err


OF_TEAM = "organization-access"
OF_PROJECT = "access custom, workspace-access/variables write, project-access/variable-sets read"
PLANNED = [
    (
        ("organizations/there/projects", [project("prj-1", "Web", **{"team-count": 0})]),
        ("project", ["+ Web: tags dept=r+d"]),
    ),
    (("projects/prj-1/tag-bindings", None), ("project", [])),
    (
        ("projects/prj-1/tag-bindings", [binding("b", ""), binding("a", "1")]),
        ("project", ["~ Default Project: tags a=1 b="]),
    ),
    (
        ("organizations/there/workspaces", [workspace("ws-2", "dns", **{"tag-names": ["b", "A"]})]),
        ("workspace", ["+ dns: tags a b"]),
    ),
    (
        ("organizations/there/teams", [team("team-2", "ops", "manage-policies")]),
        ("team", ["+ ops: visibility secret"]),
    ),
    (
        (
            "organizations/there/teams",
            [team("team-2", "ops", "read-projects", "read-workspaces", visibility="organization")],
        ),
        (
            "team",
            [f"+ ops: visibility organization, {OF_TEAM}/read-workspaces, {OF_TEAM}/read-projects"],
        ),
    ),
    (
        ("team-workspaces", [team_workspace("tws-1", "plan", runs="plan", variables="read")]),
        ("access to a workspace", ["+ ops on vpc: access plan", "+ ops on dns: access plan"]),
    ),
    (
        ("team-workspaces", [team_workspace("tws-1", "custom", runs="plan", variables="read")]),
        (
            "access to a workspace",
            [
                f"+ ops on {name}: access custom, variables read, runs plan"
                for name in ("vpc", "dns")
            ],
        ),
    ),
    (
        ("team-projects", [team_project("tprj-1", "maintain")]),
        ("access to a project", ["+ ops on Default Project: access maintain"]),
    ),
    (
        (
            "team-projects",
            [team_project("tprj-1", "custom", **{"workspace-access": {"variables": "write"}})],
        ),
        (
            "access to a project",
            [f"+ ops on Default Project: {OF_PROJECT}"],
        ),
    ),
    (
        (
            "varsets/varset-1",
            variable_set(
                "varset-1", "Cloud", parent=("projects", "prj-1"), projects=[("projects", "prj-1")]
            ),
        ),
        ("set", ["+ Cloud: priority, 1 workspace, 1 project"]),
    ),
    (
        ("workspaces/ws-1/vars", [variable("var-1", "A", value="1", category="env")]),
        ("variables of workspaces", ["created vpc: A"]),
    ),
    (
        ("workspaces/ws-1/vars", [variable("var-1", "A", value=None, sensitive=True)]),
        ("variables of workspaces", ["missing vpc: A"]),
    ),
]


@pytest.mark.parametrize(("answered", "planned"), PLANNED)
def test_what_is_answered_becomes_what_is_planned(
    move: Move, hcp: Hcp, answered: tuple[str, Any], planned: tuple[str, list[str]]
) -> None:
    (where, answer), (kind, lines) = answered, planned
    hcp.answers[where] = answer
    with answering(hcp.tell) as url:
        said = move("--dry-run", "--json", address=url).json
    told = [
        (one["type"], f"{one['sign']} {one['name']}: {one['changed']}") for one in said["steps"]
    ]
    for outcome, listed in (("", said["variables"]), ("missing", said["missing"])):
        told += [
            (
                f"variables of {one['type']}",
                f"{outcome or one['outcome']} {one['name']}: {one['key']}",
            )
            for one in listed
        ]
    assert [line for type_, line in told if type_ == kind] == lines


STRAY = resource("workspaces", "ws-3", {"name": "x"}, project=("projects", "prj-9"))
MORE = {"data": [], "meta": {"pagination": {"total-count": 1}}}


@pytest.mark.parametrize(
    ("where", "answer", "code", "said"),
    [
        pytest.param("team-workspaces", (302, {}), 1, "redirect", id="redirect"),
        pytest.param("team-workspaces", (401, {}), 4, "not take the token", id="no token"),
        pytest.param("team-workspaces", (403, {}), 8, "one of an owner", id="forbidden"),
        pytest.param("team-workspaces", (404, {}), 5, "no such organization", id="not found"),
        pytest.param("team-workspaces", (500, {}), 10, "answered 500", id="broken"),
        pytest.param("varsets/varset-1", {}, 1, "not answer as HCP", id="empty"),
        pytest.param("team-workspaces", [{"id": 1}], 1, "not answer as HCP", id="other types"),
        pytest.param("team-workspaces", (200, MORE), 6, "was changed while", id="short"),
        pytest.param("organizations/there/workspaces", [STRAY], 6, "was changed while", id="stray"),
    ],
)
def test_a_source_that_does_not_answer_as_it_should_changes_nothing(
    move: Move, desk: Desk, hcp: Hcp, where: str, answer: Any, code: int, said: str
) -> None:
    hcp.answers[where] = answer
    with answering(hcp.tell) as url:
        done = move("--yes", address=url)
    assert (done.code, said in done.err) == (code, True), done.err
    assert "vpc" not in desk.succeed("workspace", "list").out


def test_all_that_our_rules_refuse_is_said_at_once_and_nothing_is_made(
    move: Move, desk: Desk, hcp: Hcp
) -> None:
    workspaces = hcp.answers["organizations/there/workspaces"]
    workspaces[1]["attributes"]["name"] = "d n s"
    workspaces[0]["attributes"]["tag-names"] = ["-", *(f"t{number}" for number in range(50))]
    hcp.answers["workspaces/ws-1/tag-bindings"] = [binding("a=b", "x"), binding("c", "ü")]
    workspaces.append(
        resource("workspaces", "ws-3", {"name": "VPC"}, project=("projects", "prj-1"))
    )
    hcp.answers["workspaces/ws-1/vars"] += [
        variable("var-4", "a b", value="x"),
        variable("var-5", "broken", value="[hush,,", hcl=True),
        variable("var-6", "long", description="x" * 513),
    ]
    hcp.answers["varsets/varset-1"]["relationships"]["workspaces"]["data"] *= 1001
    for told, length in (
        (hcp.answers["organizations/there/projects"][0], 1025),
        (workspaces[0], 1025),
        (workspaces[1], 1024),
        (hcp.answers["varsets/varset-1"], 513),
    ):
        told["attributes"]["description"] = "é" * length
    desk.succeed("project", "create", "Other")
    desk.succeed("set", "create", "cloud", "--of-project", "Other")
    secrets = desk.folder / "secrets.json"
    item = {"type": "workspaces", "name": "vpc", "key": "OTHER", "category": "env", "value": "hush"}
    secrets.write_text(json.dumps({"variables": [item]}))
    with answering(hcp.tell) as url:
        done = move("--yes", "--secrets", secrets, address=url)
    assert done.code == 7
    for said in (
        "workspace VPC: there are two of this name.",
        "workspace d n s: its name has to be",
        "project Default Project: its description has more than 1024 characters.",
        "workspace vpc: its description has more than 1024 characters.",
        "workspace vpc: its tag -: A tag is 1 to",
        "workspace vpc: its tag a=b: A key is 1 to",
        "workspace vpc: its tag c: A value is at most",
        "workspace vpc: Nothing has more than 50 tags",
        "workspace vpc, a b: A key has no white space",
        "workspace vpc, broken: its value is no code",
        "workspace vpc, long: A description has at most 512",
        "set Cloud: its description has more than 512 characters.",
        "set Cloud: it is attached to more than 1000",
        "set Cloud: there is one of that name here that belongs to another project",
        "vpc, OTHER (env): the file names it",
    ):
        assert said in done.err
    assert "d n s: its description" not in done.err
    assert "hush" not in done.err
    assert "vpc" not in desk.succeed("workspace", "list").out


def test_what_is_refused_midway_is_done_by_the_next_run(move: Move, desk: Desk, hcp: Hcp) -> None:
    dns = hcp.answers["organizations/there/workspaces"][1]["attributes"]
    dns["description"] = "a\0b"  # which the service alone refuses
    with answering(hcp.tell) as url:
        done = move("--yes", address=url)
        assert done.code == 7
        assert "workspace dns: " in done.err
        assert "Run the command again to do the rest." in done.err
        assert "vpc" in desk.succeed("workspace", "list").out
        dns["description"] = "short"
        assert move("--yes", address=url).code == 0
    assert variables(desk, "-w", "vpc") == {"cidr": "10.0.0.0/8", "zones": '["a"]'}


def test_whoever_interrupts_it_midway_is_told_that_what_was_made_stays(
    desk: Desk, there: There, service: Service, monkeypatch: pytest.MonkeyPatch, office: str
) -> None:
    monkeypatch.setenv("TFE_TOKEN", there.token)
    source = ("--source-address", there.url, "--source-organization", "there")
    with CutWire(service, ["through", *["busy"] * 1000]) as wire:
        here = desk.having(address=wire.url, token=service.tokens["alice"], organization=office)
        with here.terminal("migrate-from", "hcp", *source, "--yes") as terminal:
            terminal.expect("1 of .*Sending it again")
            terminal.press(b"\x03")
            terminal.expect("What was made before stays. Run the command again to do the rest.")
            assert terminal.wait() in (12, 130)  # as it was under way, or waited


def test_what_a_set_is_attached_to_here_stays(move: Move, desk: Desk, hcp: Hcp) -> None:
    desk.succeed("set", "create", "cloud")
    desk.succeed("set", "attach", "cloud", "payments")
    with answering(hcp.tell) as url:
        assert move("--yes", address=url).code == 0
        again = move("--dry-run", address=url)
    assert again.code == 0, again.out
    shown = desk.succeed("set", "show", "cloud", "--json").json
    assert (shown["workspaces"], shown["priority"]) == (["dns", "payments"], True)


ITEM = '{"type": "workspaces", "name": "hush", "key": "hush", "category": "env", "value": "hush"}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is not such a file"),
        ("[]", "is not such a file"),
        ('{"variables": [{"key": "hush"}]}', "is not such a file"),
        (f'{{"variables": [{ITEM}, {ITEM}]}}', "names a variable twice"),
    ],
)
def test_a_file_that_is_none_is_refused_without_a_word_of_it(
    move: Move, desk: Desk, content: str, said: str
) -> None:
    (desk.folder / "secrets.json").write_text(content)
    done = move("--secrets", "secrets.json", "--yes")
    assert (done.code, said in done.err, "hush" in done.err) == (7, True, False)


def test_a_token_is_taken_from_a_file_or_the_environment_and_nowhere_else(
    move: Move, desk: Desk, there: There, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TFE_TOKEN")
    assert move("--dry-run").code == 2
    file = tmp_path / "token"
    file.write_text(f"{there.token}\n")
    assert move("--source-token-file", file, "--dry-run").code == 3
    assert move("--source-token-file", tmp_path / "none", "--dry-run").code == 1
    plain = move("--source-token-file", file, address="http://hcp.example.com")
    assert (plain.code, there.token in plain.err) == (2, False)


def test_nothing_is_done_before_somebody_agrees(move: Move, desk: Desk) -> None:
    refused = move()
    assert refused.code == 2
    assert "access to a workspace" in refused.err
    assert len(desk.succeed("workspace", "list").out.splitlines()) == 2
