"""`directory apply`: contract §7."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from teamvars.cli.exits import Failure
from teamvars.cli.operator.directory_file import read
from teamvars.domain.names import Origin
from teamvars.domain.teams import Right
from tests.cli.conftest import DIRECTORY, ServedHost
from tests.support.commands import Done, Host
from tests.support.server import Server
from tests.support.tenant import variable_document

JSON_API = {"Content-Type": "application/vnd.api+json"}


def apply(served_host: ServedHost, text: str, *options: str) -> Done:
    (served_host.host.folder / "changed.yaml").write_text(text)
    return served_host.host.run("directory", "apply", "changed.yaml", *options)


def exported_from(served_host: ServedHost) -> str:
    """What there is of acme: other tests have organizations of their own there."""
    return served_host.host.succeed("directory", "export", "acme").out


def faults_of(tmp_path: Path, content: str | bytes) -> list[str]:
    """The faults of a file without its name: `LINE: what is wrong`."""
    path = tmp_path / "f.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(Failure) as raised:
        read(path)
    return [line.removeprefix(f"{path}:") for line in str(raised.value).splitlines()]


def test_json_names_the_ids_of_everything_in_the_file(served_host: ServedHost) -> None:
    assert set(served_host.applied) == {"organizations", "users", "changes"}
    acme = served_host.applied["organizations"]["acme"]
    prefixes: dict[str, Any] = {
        "workspaces": ("ws-", ["network", "payments"]),
        "teams": ("team-", ["owners", "platform"]),
        "memberships": ("ou-", ["alice", "bob", "carol"]),
        "runners": ("run-", []),
        "projects": ("prj-", []),
        "variable-sets": ("varset-", []),
    }
    assert set(acme) == {"id", *prefixes}
    assert acme["id"].startswith("org-")
    for noun, (prefix, names) in prefixes.items():
        assert list(acme[noun]) == names
        assert all(
            id_.startswith(prefix) and len(id_) == len(prefix) + 16 for id_ in acme[noun].values()
        )
    assert list(served_host.applied["users"]) == ["root", "alice", "bob", "carol"]
    assert "create organization acme" in served_host.applied["changes"]


def test_applying_a_file_again_changes_nothing_and_names_the_same_ids(
    served_host: ServedHost,
) -> None:
    again = apply(served_host, DIRECTORY, "--json")
    assert again.code == 0
    assert again.json == {**served_host.applied, "changes": []}
    assert apply(served_host, DIRECTORY, "--dry-run").code == 0


def test_a_dry_run_says_what_it_would_do_and_exits_with_3(served_host: ServedHost) -> None:
    changed = DIRECTORY.replace("[network, payments]", "[network, payments, edge]")
    done = apply(served_host, changed, "--dry-run")
    assert (done.code, done.out) == (3, "create workspace acme/edge\n")
    assert (
        apply(served_host, DIRECTORY.replace("payments]", "payments, edge]"), "--dry-run").out
        == done.out
    )
    assert apply(served_host, changed, "--dry-run", "--json").json["changes"] == [
        "create workspace acme/edge"
    ]


def test_what_changes_goes_to_stdout_and_a_word_about_it_to_stderr(served_host: ServedHost) -> None:
    secret = DIRECTORY + "      - {name: shadow, visibility: secret, members: [bob]}\n"
    done = apply(served_host, secret)
    assert done.out.splitlines() == ["create team acme/shadow", "add bob to team acme/shadow"]
    assert re.fullmatch(r"Changes: 2\.\nThe store was held for \d+ ms\.\n", done.said)
    pruned = apply(served_host, DIRECTORY, "--prune")
    assert pruned.code == 0
    assert pruned.out == "delete team acme/shadow\n"
    assert pruned.said.startswith("will delete team acme/shadow\n")


def test_a_list_of_members_undoes_what_the_api_added(served_host: ServedHost) -> None:
    path = f"/api/v2/teams/{served_host.applied['organizations']['acme']['teams']['platform']}"
    with served_host.server.client(served_host.token) as client:
        document = {"data": [{"type": "users", "id": served_host.applied["users"]["alice"]}]}
        added = client.post(f"{path}/relationships/users", json=document, headers=JSON_API)
        assert added.status_code == 204
    assert apply(served_host, DIRECTORY).out == "remove alice from team acme/platform\n"


def test_prune_spares_a_workspace_that_has_variables(served_host: ServedHost) -> None:
    attributes = {"key": "kept", "value": "1", "description": "", "category": "env"}
    document = {"data": {"type": "vars", "attributes": attributes}}
    with served_host.server.client(served_host.token) as client:
        made = client.post(served_host.vars_path, json=document, headers=JSON_API)
        assert made.status_code == 201
        without = DIRECTORY.replace("[network, payments]", "[payments]").replace(
            ", workspaces: {network: write}", ""
        )
        refused = apply(served_host, without, "--prune")
        assert refused.code == 7
        assert "acme/network" in refused.said
        assert "--delete-variables" in refused.said
        assert refused.out == ""
        location = made.headers["Location"]
        assert client.get(location).status_code == 200
        assert client.delete(location).status_code == 204


def test_nobody_can_take_the_last_owner_away(served_host: ServedHost) -> None:
    for text in (
        DIRECTORY.replace("members: [alice]", "members: []"),
        DIRECTORY.replace("members: [alice]", "members: [carol]"),
        DIRECTORY.replace("alice: active", "alice: invited"),
    ):
        done = apply(served_host, text)
        assert done.code == 7
        place = 1 + text.splitlines().index(next(x for x in text.splitlines() if "owners" in x))
        assert done.said == (
            f"teamvars: changed.yaml:{place}: Organization acme would have no active owner left.\n"
        )
    assert apply(served_host, DIRECTORY, "--dry-run").code == 0


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("members: [bob]", "members: [dave]", "dave is no member of acme"),
        ("{network: write}", "{elsewhere: write}", "there is no workspace acme/elsewhere"),
        ("carol: invited", "nobody: invited", "There is no user nobody"),
        ("bob@example.com", "ALICE@example.com", "e-mail address of user bob is taken"),
    ],
)
def test_a_name_that_leads_nowhere_is_invalid(
    served_host: ServedHost, before: str, after: str, words: str
) -> None:
    done = apply(served_host, DIRECTORY.replace(before, after))
    assert done.code == 7
    assert words in done.said
    assert apply(served_host, DIRECTORY, "--dry-run").code == 0


def test_all_that_leads_nowhere_is_reported_at_once_with_file_and_line(
    served_host: ServedHost,
) -> None:
    changed = DIRECTORY.replace("bob@example.com", "ALICE@example.com").replace(
        "members: [bob]", "members: [dave, bob]"
    )
    done = apply(served_host, changed)
    assert done.code == 7
    told = done.said.removeprefix("teamvars: ").splitlines()
    lines = changed.splitlines()
    places = [int(one.split(":")[1]) - 1 for one in told]
    assert ["bob" in lines[places[0]], "dave" in lines[places[1]]] == [True, True]
    assert len(told) == 2


SPREAD = """\
users:
  - {username: alice}
organizations:
  - name: acme
    members:
      alice: active
      nobody: active
      ghost: invited
    workspaces: [network]
    teams:
      - name: platform
        members:
          - alice
          - stranger
        workspaces:
          network: read
          elsewhere: write
"""


def test_each_name_that_leads_nowhere_is_told_with_the_line_it_stands_in(
    served_host: ServedHost,
) -> None:
    done = apply(served_host, SPREAD)
    assert (done.code, done.out) == (7, "")
    told = done.said.removeprefix("teamvars: ").splitlines()
    lines = SPREAD.splitlines()
    named = [lines[int(one.split(":")[1]) - 1].strip(" -").split(":")[0] for one in told]
    assert named == ["nobody", "ghost", "stranger", "elsewhere"]


def test_a_user_who_was_invited_elsewhere_first_is_taken_over(served_host: ServedHost) -> None:
    acme = "/api/v2/organizations/acme/organization-memberships"
    invitation = {
        "data": {
            "type": "organization-memberships",
            "attributes": {"email": "ceo@acme.example"},
        }
    }
    with served_host.server.client(served_host.token) as client:
        made = client.post(acme, json=invitation, headers=JSON_API)
        assert made.status_code == 201
    text = "users:\n  - {username: ceo, email: CEO@acme.example}\n"
    done = apply(served_host, text, "--json")
    assert done.code == 0
    assert done.json["changes"] == ["take over invited user ceo@acme.example as ceo"]
    assert done.json["users"] == {"ceo": made.json()["included"][0]["id"]}
    assert apply(served_host, text, "--dry-run").code == 0
    refused = apply(served_host, text.replace("{username: ceo,", "{username: other,"))
    assert (refused.code, refused.said.startswith("teamvars: changed.yaml:2: ")) == (7, True)
    assert "user ceo" in refused.said


def test_every_fault_of_a_file_is_reported_with_file_and_line(served_host: ServedHost) -> None:
    done = apply(served_host, "users:\n  - {username: a b}\n  - {usrname: x}\norgs: []\n")
    assert done.code == 7
    assert done.out == ""
    places = [line.partition(": ")[0] for line in done.said.removeprefix("teamvars: ").splitlines()]
    assert places == ["changed.yaml:4", "changed.yaml:2", "changed.yaml:3", "changed.yaml:3"]
    assert "unknown key 'orgs'; known: organizations, users" in done.said


def test_a_key_of_a_file_begins_no_line_of_its_own(served_host: ServedHost) -> None:
    done = apply(served_host, '"a\\nstored": 1\n')
    expected = "teamvars: changed.yaml:1: unknown key 'a\\nstored'; known: organizations, users\n"
    assert (done.code, done.said) == (7, expected)


def test_a_file_that_is_not_there_or_no_yaml_is_invalid(served_host: ServedHost) -> None:
    missing = served_host.host.run("directory", "apply", "none.yaml")
    assert (missing.code, missing.said) == (7, "teamvars: none.yaml: No such file or directory\n")
    broken = apply(served_host, "users: [\n")
    assert broken.code == 7
    assert broken.said.startswith("teamvars: changed.yaml:2: this is not YAML: ")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("users: [\n\n", [3]),
        ("users:\n\t- {}\n", [2]),
        ("a: b: c\n", [1]),
        ("users: []\n---\nusers: []\n", [2]),
        ("users: *nobody\n", [1]),
        ("users: 'open\n", [2]),
        (b"users: []\n# caf\xe9\n", [2]),
        ("users: []\n# \x07\n", [2]),
        ("[" * 5000, [1]),
        ("just words\n", [1]),
        ("- users\n", [1]),
        ("users: {alice: {}}\n", [1]),
        ("users:\n", [1]),
        ("users:\n  - alice\n", [2]),
        ("users:\n  - {email: a@example.com}\n", [2]),
        ("users:\n  - {username: [a]}\n", [2]),
        ("users:\n  - {username: a, email: nowhere}\n", [2]),
        ("users:\n  - {username: a, site-admin: maybe}\n", [2]),
        ("users:\n  - {username: a, username: b}\n", [2]),
        ("users:\n  - {username: a}\n  - {username: A}\n", [3]),
        ("users: []\nusers: []\n", [2]),
        ("? [users]\n: []\n", [1]),
        ("users: &a\n  - {<<: *a}\n", [2, 2]),
        ("organizations:\n  - {name: 'a b'}\n", [2]),
        ("organizations:\n  - {name: a, members: [alice]}\n", [2]),
        ("organizations:\n  - {name: a, members: {alice: here}}\n", [2]),
        ("organizations:\n  - name: a\n    members: {alice: active, ALICE: invited}\n", [3]),
        ("organizations:\n  - {name: a, workspaces: {w: read}}\n", [2]),
        ("organizations:\n  - {name: a, workspaces: [w/w]}\n", [2]),
        ("organizations:\n- name: a\n  workspaces:\n  - w\n  - {name: W}\n", [5]),
        ("organizations:\n  - {name: a, team: []}\n", [2]),
        ("organizations:\n- name: a\n  teams:\n  - {name: owners, workspaces: {w: read}}\n", [4]),
        ("organizations:\n  - name: a\n    teams:\n    - {name: t, workspaces: {w: admin}}\n", [4]),
        ("organizations:\n  - name: a\n    teams:\n    - {name: t, visibility: open}\n", [4]),
        (
            "organizations:\n- name: a\n  teams:\n  - {name: 'Süd 2.0'}\n  - {name: 't,t'}\n",
            [5],
        ),
        ("organizations:\n  - name: a\n    teams:\n    - {name: t, members: {a: b}}\n", [4]),
        ("organizations:\n- name: a\n  teams:\n  - {name: t, members-manage-token: 1}\n", [4]),
        ("organizations:\n  - {name: a}\n  - {name: A}\n", [3]),
    ],
)
def test_a_malformed_file_has_its_line_named(
    tmp_path: Path, content: str | bytes, lines: list[int]
) -> None:
    found = faults_of(tmp_path, content)
    assert [int(fault.partition(":")[0]) for fault in found] == lines


def test_whether_members_manage_their_teams_token_is_told_and_kept(served_host: ServedHost) -> None:
    may = DIRECTORY.replace("members: [bob],", "members: [bob], members-manage-token: true,")
    assert apply(served_host, may).out == "update team acme/platform\n"
    (acme,) = yaml.safe_load(exported_from(served_host))["organizations"]
    platform = acme["teams"][1]
    assert platform["members-manage-token"] is True
    assert apply(served_host, DIRECTORY).out == "", (
        "a file that does not speak of it changes nothing"
    )
    assert apply(served_host, may.replace("token: true", "token: false")).code == 0
    assert apply(served_host, DIRECTORY, "--dry-run").code == 0


@pytest.mark.parametrize("right", [*Right])
def test_rights_in_the_organization_are_told_and_kept(
    served_host: ServedHost, right: Right
) -> None:
    def exported() -> Any:
        said = yaml.safe_load(exported_from(served_host))
        return said["organizations"][0]["teams"][1].get(right.value, False)

    plain = DIRECTORY.replace("manage-membership: true, ", "")
    taken = plain.replace("members: [bob],", f"members: [bob], {right}: false,")
    apply(served_host, taken)
    given = taken.replace(f"{right}: false", f"{right}: true")
    assert apply(served_host, given).out == "update team acme/platform\n"
    assert exported() is True
    assert apply(served_host, plain).out == "", "a file that does not speak of it changes nothing"
    assert apply(served_host, taken).out == "update team acme/platform\n"
    assert exported() is False
    assert apply(served_host, DIRECTORY).code == 0


def test_a_file_may_be_standard_input(served_host: ServedHost) -> None:
    exported = exported_from(served_host)
    done = served_host.host.run("directory", "apply", "-", "--prune", given=exported)
    assert (done.code, done.out) == (0, "")
    wrong = served_host.host.run("directory", "apply", "-", given="users:\n  - {name: a}\n")
    assert wrong.code == 7
    assert wrong.said.startswith("teamvars: -:2: unknown key 'name'")


def test_an_empty_file_asks_for_nothing(served_host: ServedHost) -> None:
    done = apply(served_host, "# nothing yet\n", "--json")
    assert done.code == 0
    assert done.json == {"organizations": {}, "users": {}, "changes": []}


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfusers: [{username: alice}]\n")
    assert [user.username for user in read(path).users] == ["alice"]


def test_a_team_in_the_file_sees_the_variables_at_once(served_host: ServedHost) -> None:
    bob = served_host.host.succeed("token", "create", "--user", "bob").out.strip()
    url = f"{served_host.server.url}{served_host.vars_path}"
    headers = {"Authorization": f"Bearer {bob}"}
    assert httpx.get(url, headers=headers).status_code == 200
    assert apply(served_host, DIRECTORY.replace("{network: write}", "{}")).code == 0
    assert httpx.get(url, headers=headers).status_code == 404
    assert apply(served_host, DIRECTORY).code == 0
    assert httpx.get(url, headers=headers).status_code == 200


def test_a_file_says_what_something_was_called_or_that_it_is_new(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(
        "organizations:\n"
        "  - name: acme\n"
        "    former-name: Old\n"
        "    workspaces:\n"
        "      - plain\n"
        "      - {name: network, former-name: net}\n"
        "      - {name: fresh, new: true}\n"
        "    teams: [{name: crew, former-name: Old crew}, {name: gang, new: true}]\n"
    )
    (entry,) = read(path).organizations
    assert entry.origin == Origin("Old")
    assert entry.workspaces == ("plain", "network", "fresh")
    assert entry.origins == {
        "plain": Origin(),
        "network": Origin("net"),
        "fresh": Origin(new=True),
    }
    assert entry.workspace_at["network"] == f"{path}:6"
    assert [team.origin for team in entry.teams] == [Origin("Old crew"), Origin(new=True)]


@pytest.mark.parametrize(
    ("organization", "fault"),
    [
        (
            "{name: a, former-name: b, new: true}",
            "1: something with a 'former-name' cannot be 'new'",
        ),
        ("{name: a, former-name: b c}", "1: a name has 1 to 90"),
        ("{name: a, new: maybe}", "1: this must be true or false"),
        ("{name: a, workspaces: [{former-name: b}]}", "1: 'name' is missing"),
        ("{name: a, workspaces: [{name: b, old: c}]}", "1: unknown key 'old'"),
        ("{name: a, teams: [{name: b, former-name: Owners}]}", "1: owners keeps its name"),
        ("{name: a, teams: [{name: owners, former-name: b}]}", "1: owners keeps its name"),
    ],
)
def test_what_cannot_be_said_of_a_former_name_is_a_fault(
    tmp_path: Path, organization: str, fault: str
) -> None:
    (told,) = faults_of(tmp_path, f"organizations: [{organization}]")
    assert told.startswith(fault)


@pytest.mark.parametrize(
    ("tags", "fault"),
    [
        ("tag-names: eu", "this must be a list"),
        ("tag-names: [eu, -eu]", "A tag is 1 to 255 letters"),
        ("tag-names: [{eu: 1}]", "A tag is 1 to 255 letters"),
        ("tag-bindings: [eu]", "this must be a mapping"),
        ("tag-bindings: {'a,b': c}", "A key is 1 to 128 letters"),
        ("tag-bindings: {a: 'b,c'}", "A value is at most 256 letters"),
        ("tag-bindings: {a: b, a: c}", "a is given twice"),
        ("tags: [eu]", "unknown key 'tags'"),
    ],
)
def test_what_no_tag_may_be_is_a_fault(tmp_path: Path, tags: str, fault: str) -> None:
    text = f"organizations:\n  - name: a\n    workspaces:\n      - {{name: w, {tags}}}\n"
    (told,) = faults_of(tmp_path, text)
    assert told.startswith(f"4: {fault}")


def test_tags_are_applied_and_exported_as_they_are_written(served_host: ServedHost) -> None:
    tagged = (
        "{name: network, tag-names: [EU, prod], tag-bindings: {region: 7, Region: us-1, note: }}"
    )
    text = DIRECTORY.replace("workspaces: [network, payments]", f"workspaces: [{tagged}, payments]")
    assert text != DIRECTORY
    assert apply(served_host, text).out == "change the tags of workspace acme/network\n"
    exported = exported_from(served_host)
    (acme,) = yaml.safe_load(exported)["organizations"]
    assert acme["workspaces"] == [
        {
            "name": "network",
            "tag-names": ["eu", "prod"],
            "tag-bindings": {"Region": "us-1", "note": "", "region": "7"},
        },
        "payments",
    ]
    for again in (exported, text, DIRECTORY):
        assert apply(served_host, again, "--dry-run").code == 0
    without = text.replace("[EU, prod]", "[]").replace("{region: 7, Region: us-1, note: }", "{}")
    assert apply(served_host, without).out == "change the tags of workspace acme/network\n"
    assert apply(served_host, DIRECTORY, "--dry-run").code == 0
    assert exported_from(served_host) != exported


def test_projects_are_applied_and_exported_as_they_are_written(served_host: ServedHost) -> None:
    placed = "[{name: network, project: on sale}, payments]"
    projects = (
        "projects: [{name: on sale, tag-bindings: {region: eu}}, idle, "
        "{name: Main, former-name: Default Project}]"
    )
    spaces = "workspaces: [network, payments]"
    text = DIRECTORY.replace(spaces, f"{projects}\n    workspaces: {placed}", 1)
    text = text.replace("{name: platform,", "{name: platform, projects: {on sale: write},")
    assert apply(served_host, text).out.splitlines() == [
        "rename project acme/Default Project to Main",
        "create project acme/on sale",
        "create project acme/idle",
        "move workspace acme/network to project on sale",
        "grant acme/platform write on project on sale",
    ]
    exported = exported_from(served_host)
    (acme,) = yaml.safe_load(exported)["organizations"]
    assert acme["projects"] == [
        "idle",
        {"name": "Main", "former-name": "Default Project"},
        {"name": "on sale", "tag-bindings": {"region": "eu"}},
    ]
    assert acme["workspaces"] == [{"name": "network", "project": "on sale"}, "payments"]
    assert [team.get("projects") for team in acme["teams"]] == [None, {"on sale": "write"}]
    for again in (exported, text):
        assert apply(served_host, again, "--dry-run").code == 0
    back = exported.replace("project: on sale", "project: MAIN").replace("on sale: write", "")
    assert "move workspace acme/network to project Main\n" in apply(served_host, back).out


def test_access_to_projects_is_applied_and_exported_as_it_is_written(
    served_host: ServedHost,
) -> None:
    custom = (
        "{project-access: {variable-sets: write}, workspace-access: {variables: read, runs: plan}}"
    )
    text = DIRECTORY.replace(
        "workspaces: [network", "projects: [a, b, c]\n    workspaces: [network", 1
    )
    granted = "{name: platform, projects: {a: maintain, b: admin, c: " + custom + "},"
    text = text.replace("{name: platform,", granted)
    told = apply(served_host, text).out.splitlines()
    assert told[-3:] == [
        "grant acme/platform maintain on project a",
        "grant acme/platform admin on project b",
        "grant acme/platform custom on project c",
    ]
    exported = exported_from(served_host)
    (acme,) = yaml.safe_load(exported)["organizations"]
    assert acme["teams"][1]["projects"] == {
        "a": "maintain",
        "b": "admin",
        "c": yaml.safe_load(custom),
    }
    for again in (exported, text):
        assert apply(served_host, again, "--dry-run").code == 0
    less = text.replace("variables: read, ", "")
    assert apply(served_host, less, "--dry-run").code == 3
    assert apply(served_host, less).out == "grant acme/platform custom on project c\n"


def test_variable_sets_are_applied_and_exported_as_they_are_written(
    served_host: ServedHost,
) -> None:
    sets = """
    variable-sets:
      - {name: Cloud, description: '', global: true, priority: false, workspaces: [], projects: []}
      - {name: On sale, description: "two\nlines", global: false, priority: true,
         workspaces: [network, payments], projects: []}
    """
    text = DIRECTORY.rstrip().replace("\n    teams:", f"{sets.rstrip()}\n    teams:", 1)
    told = [
        "create variable set acme/Cloud",
        "create variable set acme/On sale",
        "attach variable set acme/On sale to workspace network",
        "attach variable set acme/On sale to workspace payments",
    ]
    assert apply(served_host, text, "--dry-run").out.splitlines() == told
    assert apply(served_host, text).out.splitlines() == told
    exported = exported_from(served_host)
    (acme,) = yaml.safe_load(exported)["organizations"]
    assert acme["variable-sets"] == yaml.safe_load(sets)["variable-sets"]
    for again in (exported, text):
        assert apply(served_host, again, "--dry-run").code == 0
    ids = apply(served_host, text, "--json").json["organizations"]["acme"]
    assert list(ids["variable-sets"]) == ["Cloud", "On sale"]
    path = f"/api/v2/varsets/{ids['variable-sets']['On sale']}/relationships/vars"
    with served_host.server.client(served_host.token) as client:
        client.headers.update(JSON_API)
        for number in range(12):
            made = client.post(path, json=variable_document(key=f"k{number:02}"))
            assert made.status_code == 201
    less = text.replace(
        "workspaces: [network, payments], projects", "workspaces: [payments], projects"
    )
    keys = ", ".join(f"k{number:02}" for number in range(10))
    assert apply(served_host, less, "--dry-run").out.splitlines() == [
        "detach variable set acme/On sale from workspace network",
        f"workspace acme/network loses {keys}, and 2 more",
    ]
    (network,) = (
        apply(served_host, less, "--dry-run", "--json").json["effects"]["acme"].pop("workspaces")
    )
    assert (network["name"], network["gains"], len(network["loses"])) == ("network", [], 12)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("variable-sets: shared", "this must be a list"),
        ("variable-sets: [shared]", "this must be a mapping"),
        ("variable-sets: [{name: a}, {name: A}]", "A is given twice"),
        ("variable-sets: [{name: ' a'}]", "the name of a variable set has 1 to 90 characters"),
        ("variable-sets: [{name: a, global: 1}]", "this must be true or false"),
        ("variable-sets: [{name: a, vars: {}}]", "unknown key 'vars'"),
        (
            f"variable-sets: [{{name: a, description: {'d' * 513}}}]",
            "a description has at most 512",
        ),
        ('variable-sets: [{name: a, description: "\\0"}]', "a description has at most 512"),
        ('variable-sets: [{name: a, description: "\\ud800"}]', "a description has at most 512"),
        ("variable-sets: [{name: a, former-name: b, new: true}]", "something with a 'former-name'"),
        ("variable-sets: [{name: a, workspaces: {b: read}}]", "this must be a list"),
    ],
)
def test_what_no_variable_set_may_be_is_a_fault(tmp_path: Path, said: str, fault: str) -> None:
    (told,) = faults_of(tmp_path, f"organizations:\n  - name: a\n    {said}\n")
    assert told.startswith(f"3: {fault}")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("projects: shop", "this must be a list"),
        ("projects: [shop, SHOP]", "SHOP is given twice"),
        ("projects: ['a.b']", "the name of a project has 1 to 90 letters"),
        ("projects: [{name: a, tag-names: [b]}]", "unknown key 'tag-names'"),
        ("projects: [{name: a, former-name: b, new: true}]", "something with a 'former-name'"),
        ("workspaces: [{name: w, project: ' a'}]", "the name of a project has 1 to 90 letters"),
        ("teams: [{name: t, projects: {a: custom}}]", "this must be read or write or maintain"),
        ("teams: [{name: t, projects: {a: {x: {}}}}]", "unknown key 'x'"),
        ("teams: [{name: t, projects: {a: {project-access: {x: y}}}}]", "unknown key 'x'"),
        ("teams: [{name: t, projects: {a: {project-access: read}}}]", "this must be a mapping"),
        *(
            (f"teams: [{{name: t, projects: {{a: {{{group}-access: {{{said}}}}}}}}}]", fault)
            for group, said, fault in (
                ("workspace", "variables: all", "'variables' is one of none, read, write"),
                ("workspace", "create: true", "Who may do this has 'manage-workspaces'"),
                ("workspace", "create: often", "this must be true or false"),
                ("workspace", "locking: true", "Whoever writes variables may lock"),
                ("project", "settings: delete", "Who may do this has 'manage-projects'"),
                ("project", "variable-sets: all", "'project-access/variable-sets' is one of"),
            )
        ),
        ("teams: [{name: owners, projects: {}}]", "owners may do everything"),
    ],
)
def test_what_no_project_may_be_is_a_fault(tmp_path: Path, said: str, fault: str) -> None:
    (told,) = faults_of(tmp_path, f"organizations:\n  - name: a\n    {said}\n")
    assert told.startswith(f"3: {fault}")


def test_all_faults_of_a_custom_access_are_told_at_once(tmp_path: Path) -> None:
    access = (
        "project-access: {settings: nonsense, variable-sets: []}, "
        "workspace-access: {runs: nonsense, create: often}"
    )
    said = f"teams: [{{name: t, projects: {{a: {{{access}}}}}}}]"
    told = faults_of(tmp_path, f"organizations:\n  - name: a\n    {said}\n")
    assert [fault.removeprefix("3: ")[:25] for fault in told] == [
        "this must be a word",
        "this must be true or fals",
        "'project-access/settings'",
        "'workspace-access/runs' i",
    ]


def test_what_was_renamed_over_http_is_not_made_again_by_its_unchanged_file(
    migrated_host: Host,
) -> None:
    migrated_host.succeed("init")
    (migrated_host.folder / "directory.yaml").write_text(DIRECTORY)
    migrated_host.succeed("directory", "apply", "directory.yaml")
    token = migrated_host.succeed("token", "create", "--user", "alice").out.strip()
    with Server(migrated_host) as server, server.client(token) as client:
        document = {"data": {"type": "organizations", "attributes": {"name": "acme-corp"}}}
        path = "/api/v2/organizations/acme"
        assert client.patch(path, json=document, headers=JSON_API).status_code == 200
        assert "called acme-corp now" in client.get(path).text
    before = migrated_host.succeed("directory", "export").out
    for options in ((), ("--dry-run",), ("--prune",), ("--json",)):
        done = migrated_host.run("directory", "apply", "directory.yaml", *options)
        assert (done.code, done.out) == (7, "")
        assert "directory.yaml:7: Organization acme is called acme-corp now: write that" in done.err
    assert migrated_host.succeed("directory", "export").out == before
    back = DIRECTORY.replace("name: acme", "name: acme\n    former-name: acme-corp")
    done = migrated_host.succeed("directory", "apply", "-", "--json", given=back)
    assert done.json["changes"] == ["rename organization acme-corp to acme"]
    assert migrated_host.succeed("directory", "apply", "-", given=back).out == ""
    assert "streams verify" in migrated_host.succeed("audit", "verify").err
