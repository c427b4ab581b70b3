"""Teams and workspaces: many people at once, all or none, and each error says what to do."""

import httpx
import pytest

from tests.cli.client.conftest import Service
from tests.support.desk import Desk


def members(desk: Desk, team: str = "platform") -> list[str]:
    """The usernames of a team's members."""
    return [one["username"] for one in desk.succeed("team", "members", team, "--json").json]


def ids(desk: Desk, username: str) -> dict[str, str]:
    """What a member of the team is called by programs."""
    rows = desk.succeed("team", "members", "platform", "--json").json
    return next(row for row in rows if row["username"] == username)


def test_people_are_added_and_removed_by_whatever_they_are_called(
    desk: Desk, service: Service, office: str
) -> None:
    done = desk.succeed("team", "add", "Platform", "DAVE", "erin@EXAMPLE.com", "carol")
    assert done.err == f"Team Platform of {office} on {service.url}\nAdded: 3. Removed: 0.\n"
    assert sorted(members(desk)) == ["bob", "carol", "dave", "erin"]
    again = desk.succeed("team", "add", "platform", "dave", "--json")
    assert again.json == {"added": [], "removed": []}
    words = (ids(desk, "dave")["user"], ids(desk, "erin")["membership"])
    removed = desk.succeed("team", "remove", "platform", *words, "--yes", "--json").json
    assert [one["username"] for one in removed["removed"]] == ["dave", "erin"]
    assert sorted(members(desk)) == ["bob", "carol"]


def test_a_file_says_who_exactly_is_in_a_team(desk: Desk) -> None:
    people = desk.folder / "people"
    people.write_text("\ufeff# of the platform\ndave\n\n  erin@example.com  # since May\r\n")
    desk.succeed("team", "add", "platform", "--from", people)
    assert sorted(members(desk)) == ["bob", "dave", "erin"]
    done = desk.run("team", "add", "platform", "--from", people, "--exact")
    assert (done.code, "- bob" in done.err, "Give --yes" in done.err) == (2, True, True)
    assert sorted(members(desk)) == ["bob", "dave", "erin"]
    desk.succeed("team", "add", "platform", "--from", "-", "--exact", "--yes", given="dave\ncarol")
    assert sorted(members(desk)) == ["carol", "dave"]


@pytest.mark.parametrize("given", ["", "\n# nobody yet\n"])
@pytest.mark.parametrize("words", [["add", "--exact"], ["add"], ["remove"]])
def test_a_file_that_names_nobody_changes_nothing(desk: Desk, given: str, words: list[str]) -> None:
    command, *flags = words
    line = ("team", command, "platform", "--from", "-", *flags, "--yes")
    refused = desk.run(*line, given=given)
    assert (refused.code, refused.out) == (2, "")
    assert "Nobody is named." in refused.err
    assert members(desk) == ["bob"]


def test_a_file_whose_name_is_empty_is_not_taken_for_none(desk: Desk) -> None:
    refused = desk.run("team", "add", "platform", "dave", "--from", "", "--exact", "--yes")
    assert (refused.code, "--from is empty" in refused.err) == (2, True)
    assert members(desk) == ["bob"]


def test_a_removal_asks_on_a_terminal_and_only_yes_is_yes(desk: Desk) -> None:
    for answer, code, left in (("n", 1, ["bob"]), ("", 1, ["bob"]), ("y", 0, [])):
        with desk.terminal("team", "remove", "platform", "bob") as terminal:
            terminal.expect(r"Team platform of .*- bob\s+Remove 1 of 1 from platform\? \[y/N\] ")
            terminal.type(answer)
            assert terminal.wait() == code
        assert members(desk) == left


def test_nobody_is_added_where_one_name_leads_nowhere(desk: Desk) -> None:
    done = desk.run("team", "add", "platform", "dave", "nobody", "no-one@example.com")
    assert (done.code, done.out) == (5, "")
    assert "Nobody in the organization is called nobody, no-one@example.com." in done.err
    assert members(desk) == ["bob"]
    assert desk.run("team", "add", "platform").code == 2
    assert desk.run("team", "add", "none", "dave").code == 5


def test_the_last_owner_stays(desk: Desk) -> None:
    done = desk.run("team", "remove", "owners", "alice", "--yes")
    assert done.code == 7
    assert "without an active owner" in done.err
    assert members(desk, "owners") == ["alice"]


def test_whoever_is_added_before_a_removal_is_refused_stays_and_that_is_said(desk: Desk) -> None:
    # Nobody who has yet to accept keeps an organization from having no owner.
    done = desk.run("team", "add", "owners", "carol", "--exact", "--yes", "--json")
    assert (done.code, done.out) == (7, "")
    assert "teamvars: Added: 1. They stay in owners.\n" in done.err
    assert sorted(members(desk, "owners")) == ["alice", "carol"]


@pytest.mark.parametrize(
    ("who", "words", "code", "told"),
    [
        ("erin", "team add platform dave", 8, "a team of yours with 'manage-membership'"),
        ("bob", "workspace access -w network", 8, "membership of the team 'owners'"),
        ("erin", "workspace access -w network", 5, "teamvars workspace list"),
        ("bob", "team add owners dave", 8, "Only owners may change the members"),
    ],
)
def test_who_may_not_is_told_what_it_takes(
    desk: Desk, service: Service, office: str, who: str, words: str, code: int, told: str
) -> None:
    other = desk.having(address=service.url, token=service.tokens[who], organization=office)
    done = other.run(*words.split())
    assert (done.code, done.out) == (code, "")
    assert told in done.err


def test_workspaces_and_their_holders_are_listed(desk: Desk, service: Service, office: str) -> None:
    rows = desk.succeed("workspace", "list", "--json").json
    assert [row["name"] for row in rows] == ["network", "payments"]
    table = desk.succeed("workspace", "list").out.splitlines()
    assert [line.split()[:2] for line in table] == [[row["name"], row["id"]] for row in rows]
    access = desk.succeed("workspace", "access", "-w", "payments", "--json").json
    assert {row["name"]: row["access"] for row in access} == {
        "alice": "write",
        "bob": "read",
        "erin": "read",
    }
    teams = desk.succeed("team", "list", "--json").json
    assert {row["name"]: row["members"] for row in teams} == {
        "owners": 1,
        "platform": 1,
        "auditors": 1,
    }
    erin = desk.having(address=service.url, token=service.tokens["erin"], organization=office)
    assert [row["name"] for row in erin.succeed("workspace", "list", "--json").json] == ["payments"]


def test_debug_tells_requests_without_tokens_and_values(desk: Desk, service: Service) -> None:
    token = desk.succeed("login", "tokens", "create", "--debug")
    assert "POST /api/v2/users/" in token.err
    assert token.out.strip() not in token.err
    done = desk.succeed("team", "add", "platform", "dave", "--debug")
    assert "?include&page[size]&page[number]: 200 " in done.err
    for secret in (service.tokens["alice"], "Bearer", "ou-"):
        assert secret not in done.err + token.err


def test_an_empty_team_is_told_as_such(desk: Desk) -> None:
    desk.succeed("team", "remove", "auditors", "erin", "--yes")
    told = desk.succeed("team", "members", "auditors")
    assert (told.out, "Nobody is in auditors yet." in told.err) == ("", True)
    assert "0 members" in desk.succeed("team", "list").out
    assert "1 member\n" in desk.succeed("team", "list").out


def test_what_fills_an_empty_team_can_be_pasted(desk: Desk, service: Service) -> None:
    (auditors,) = (
        row["id"]
        for row in desk.succeed("team", "list", "--json").json
        if row["name"] == "auditors"
    )
    renamed = {"data": {"type": "teams", "id": auditors, "attributes": {"name": "ops/on call"}}}
    token = {"Authorization": f"Bearer {service.tokens['alice']}"}
    media = {"Content-Type": "application/vnd.api+json"}
    path = f"{service.url}/api/v2/teams/{auditors}"
    assert httpx.patch(path, json=renamed, headers=token | media).status_code == 200
    desk.succeed("team", "remove", "ops/on call", "erin", "--yes")
    told = desk.succeed("team", "members", "ops/on call")
    assert "teamvars team add 'ops/on call' PERSON" in told.err
