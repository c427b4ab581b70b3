"""`user`, `token revoke`, `access` and `directory export`: what is done when somebody leaves."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import json
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import httpx
import pytest

from tests.cli.conftest import ServedHost
from tests.cli.store import execute
from tests.support.commands import Host

JSON_API = {"Content-Type": "application/vnd.api+json"}


@dataclass(frozen=True)
class Firm:
    """An organization of the test's own: an owner, a leaver in `crew`, and the leaver's token."""

    served_host: ServedHost
    name: str
    owner: str
    leaver: str
    token: str
    owner_token: str

    def status(self, token: str, path: str | None = None) -> int:
        """What the API says to the token, whichever worker answers."""
        path = path or f"/api/v2/organizations/{self.name}/workspaces/network"
        with self.served_host.server.client(token) as client:
            return client.get(path).status_code

    def make(self, token: str, path: str) -> str:
        """A token made over HTTP; its text."""
        with self.served_host.server.client(token) as client:
            body = {"data": {"type": "authentication-tokens", "attributes": {}}}
            made: httpx.Response = client.post(f"/api/v2{path}", json=body, headers=JSON_API)
        assert made.status_code == 201, made.text
        text: str = made.json()["data"]["attributes"]["token"]
        return text


@pytest.fixture
def firm(served_host: ServedHost) -> Iterator[Firm]:
    mark = uuid4().hex[:8]
    name, owner, leaver = f"firm-{mark}", f"olga-{mark}", f"leo-{mark}"
    (served_host.host.folder / "firm.yaml").write_text(
        f"""\
users:
  - {{username: {owner}, email: {owner}@example.com}}
  - {{username: {leaver}, email: {leaver}@example.com}}
organizations:
  - name: {name}
    members: {{{owner}: active, {leaver}: active}}
    workspaces: [network]
    teams:
      - {{name: owners, members: [{owner}]}}
      - {{name: crew, members: [{leaver}], workspaces: {{network: write}}}}
"""
    )
    served_host.host.succeed("directory", "apply", "firm.yaml")
    tokens = [
        served_host.host.succeed("token", "create", "--user", who).out.strip()
        for who in (leaver, owner)
    ]
    yield Firm(served_host, name, owner, leaver, *tokens)
    # So that other tests find their own tokens and owners alone.
    for who in (leaver, owner):
        served_host.host.succeed("token", "revoke", "--user", who)
    served_host.host.succeed("token", "revoke", "--all-of", name)


def test_a_disabled_user_is_refused_by_every_worker_until_enabled(firm: Firm) -> None:
    host = firm.served_host.host
    assert [firm.status(firm.token) for _ in range(4)] == [200] * 4
    host.succeed("user", "disable", f"{firm.leaver}@example.com")
    assert [firm.status(firm.token) for _ in range(4)] == [401] * 4
    shown = host.succeed("user", "show", firm.leaver, "--json").json
    assert shown["disabled"]
    assert shown["memberships"][0]["teams"] == ["crew"]
    assert [token["marks"] for token in shown["tokens"]] == [["disabled"]]
    assert host.run("token", "create", "--user", firm.leaver).code == 7
    assert "disabled" in next(
        line for line in host.succeed("user", "list").out.splitlines() if firm.leaver in line
    )
    again = host.succeed("directory", "apply", "firm.yaml")
    assert f"User {firm.leaver} is disabled, and stays disabled." in again.err
    assert firm.status(firm.token) == 401
    host.succeed("user", "enable", shown["id"])
    assert firm.status(firm.token) == 200
    listed = host.succeed("audit", "list", "--subject", shown["id"], "--stream", "system").out
    actions = [json.loads(line)["action"] for line in reversed(listed.splitlines())]
    assert actions == ["user.create", "user.disable", "user.enable"]


def test_the_last_active_owner_is_disabled_by_force_alone_and_doctor_says_so(firm: Firm) -> None:
    host = firm.served_host.host
    refused = host.run("user", "disable", firm.owner)
    assert refused.code == 7
    assert f"{firm.owner} is the last active owner of {firm.name}." in refused.err
    assert firm.status(firm.owner_token) == 200
    host.succeed("user", "disable", firm.owner, "--force")
    assert firm.status(firm.owner_token) == 401
    told = f"Organization {firm.name} has no active owner."
    assert told in host.run("doctor").out
    host.succeed("user", "enable", firm.owner)
    assert told not in host.run("doctor").out


def test_the_tokens_a_leaver_made_for_others_are_named_and_revoked_when_told_to(
    firm: Firm,
) -> None:
    host = firm.served_host.host
    organization = firm.make(firm.owner_token, f"/organizations/{firm.name}/authentication-token")
    assert firm.status(organization) == 200
    first = host.succeed("user", "disable", firm.owner, "--force")
    assert f"organization {firm.name}" in first.out
    assert "--with-made-tokens" in first.err
    assert firm.status(organization) == 200
    assert f"organization {firm.name}" in host.succeed("user", "show", firm.owner).out
    done = host.succeed("user", "disable", firm.owner, "--force", "--with-made-tokens", "--json")
    assert done.json["made-tokens-revoked"]
    assert firm.status(organization) == 401
    assert organization not in first.out + first.err + done.out
    host.succeed("user", "enable", firm.owner)


@pytest.mark.parametrize("migrated_host", ["postgres"], indirect=True)
def test_what_has_ended_of_it_is_told_although_the_rest_was_refused(migrated_host: Host) -> None:
    host = migrated_host
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(
        "users: [{username: alice}]\norganizations:\n"
        "  - {name: acme, members: {alice: active}, teams: [{name: owners, members: [alice]}]}\n"
        "  - {name: brittle, members: {alice: active}, teams: [{name: owners, members: [alice]}]}\n"
    )
    host.succeed("directory", "apply", "directory.yaml")
    for name in ("acme", "brittle"):
        host.succeed("token", "create", "--organization", name)
    execute(host, "UPDATE tokens SET created_by = (SELECT id FROM users)")
    listed = host.succeed("user", "left-behind", "alice", "--json").json
    last = listed[-1]["tokens"][0]["id"]
    execute(
        host,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF OLD.id = '{last}' THEN RAISE 'stopped' USING ERRCODE = 'query_canceled'; END IF; "
        "RETURN OLD; END $$;"
        "CREATE TRIGGER refuse BEFORE DELETE ON tokens FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    done = host.run("user", "left-behind", "alice", "--end", "--json")
    assert done.code == 1
    assert [one["organization"] for one in done.json] == [listed[0]["organization"]]
    assert done.said == (
        "teamvars: The rest was refused (QueryCanceledError: stopped). What is told above has "
        "ended. The same command ends the rest.\n"
    )
    execute(host, "DROP TRIGGER refuse ON tokens")
    (rest,) = host.succeed("user", "left-behind", "alice", "--end", "--json").json[1:]
    assert [one["id"] for one in rest["tokens"]] == [last]


def test_what_a_leaver_leaves_behind_is_listed_and_ended_when_told_to(firm: Firm) -> None:
    host = firm.served_host.host
    organization = firm.make(firm.owner_token, f"/organizations/{firm.name}/authentication-token")
    listed = host.succeed("user", "left-behind", firm.owner)
    assert "token of the organization" in listed.out
    assert "owners" in listed.out
    assert firm.status(organization) == 200
    ended = host.succeed("user", "left-behind", firm.owner, "--end", "--json")
    (one,) = ended.json
    assert (one["organization"], len(one["tokens"])) == (firm.name, 1)
    assert firm.status(organization) == 401
    assert firm.status(firm.owner_token) == 200
    (rest,) = host.succeed("user", "left-behind", firm.owner, "--json").json
    assert rest["tokens"] == []
    assert [team["name"] for team in rest["teams"]] == ["owners"]
    assert organization not in listed.out + ended.out
    nothing = host.succeed("user", "left-behind", firm.leaver, "--end")
    assert host.run("user", "left-behind", "nobody-at-all").code == 5
    assert "teams" in nothing.err


def test_a_name_that_is_taken_or_cannot_be_is_refused_and_nothing_changes(firm: Firm) -> None:
    host = firm.served_host.host
    assert host.run("user", "rename", firm.leaver, firm.owner.upper()).code == 7
    assert host.run("user", "rename", firm.leaver, "a b").code == 7
    assert host.run("user", "rename", "nobody-at-all", "x").code == 5
    before = host.succeed("user", "show", firm.leaver, "--json").json
    assert before["username"] == firm.leaver
    host.succeed("user", "rename", firm.leaver, f"{firm.leaver}-new")
    after = host.succeed("user", "show", f"{firm.leaver}-new", "--json").json
    assert after["id"] == before["id"]
    assert firm.status(firm.token) == 200
    host.succeed("user", "rename", after["id"], firm.leaver)


def test_what_is_not_there_is_named(firm: Firm) -> None:
    for words, thing in (
        (("user", "show", "nobody"), "user nobody"),
        (("user", "disable", "nobody"), "user nobody"),
        (("token", "create", "--user", "nobody"), "user nobody"),
        (("token", "create", "--team", f"{firm.name}/none"), f"team {firm.name}/none"),
        (("token", "revoke", "--user", "nobody"), "user nobody"),
        (("token", "revoke", "--all-of", "none"), "organization none"),
        (("token", "revoke", "at-none"), "token at-none"),
        (("access", f"{firm.name}/none"), f"workspace {firm.name}/none"),
        (("access", "none/none"), "organization none"),
        (("directory", "export", "none"), "organization none"),
    ):
        done = firm.served_host.host.run(*words)
        assert (done.code, done.out) == (5, ""), words
        assert f"There is no {thing}." in done.err


def test_a_leaked_token_is_revoked_by_its_text_which_is_never_shown(firm: Firm) -> None:
    host = firm.served_host.host
    done = host.run("token", "revoke", "--leaked", given=f"{firm.token}\n")
    assert done.code == 0, done.err
    assert f"user {firm.leaver}" in done.out
    assert firm.token not in done.out + done.err
    assert firm.status(firm.token) == 401
    again = host.run("token", "revoke", "--leaked", given=firm.token)
    assert (again.code, again.out) == (5, "")
    assert firm.token not in again.err
    nothing = host.run("token", "revoke", "--leaked")
    assert nothing.code == 2
    assert "There is no token on standard input." in nothing.err
    assert host.run("token", "revoke", "--leaked", "--user", firm.owner).code == 2


def test_all_tokens_of_a_user_or_of_an_organization_are_revoked_at_once(firm: Firm) -> None:
    host = firm.served_host.host
    team, organization = (
        host.succeed("token", "create", *of).out.strip()
        for of in (("--team", f"{firm.name}/crew"), ("--organization", firm.name))
    )
    second = host.succeed("token", "create", "--user", firm.leaver).out.strip()
    revoked = host.succeed("token", "revoke", "--user", firm.leaver, "--json").json
    assert [row["name"] for row in revoked] == [firm.leaver] * 2
    assert {firm.status(one) for one in (firm.token, second)} == {401}
    assert {firm.status(one) for one in (team, organization, firm.owner_token)} == {200}
    revoked = host.succeed("token", "revoke", "--all-of", firm.name, "--json").json
    assert [row["name"] for row in revoked] == [f"{firm.name}/crew", firm.name]
    assert {firm.status(one) for one in (team, organization)} == {401}
    assert firm.status(firm.owner_token) == 200


def test_a_users_token_expires_after_90_days_unless_never_is_said(firm: Firm) -> None:
    host = firm.served_host.host
    made = {
        host.succeed("token", "create", *words, "--json").json["id"]: days
        for words, days in (
            (("--user", firm.leaver), 90),
            (("--user", firm.leaver, "--expires", "never"), None),
            (("--organization", firm.name), 730),
            (("--organization", firm.name, "--expires", "never"), None),
        )
    }
    rows = {row["id"]: row for row in host.succeed("token", "list", "--json").json}
    for id_, days in made.items():
        assert (rows[id_]["expires"] is None) == (days is None)
    listed = host.succeed("token", "list").out
    assert f"user {firm.leaver}" in listed
    assert f"organization {firm.name}" in listed


def test_doctor_names_tokens_that_somebody_should_look_at(firm: Firm) -> None:
    host = firm.served_host.host
    ids = [
        host.succeed("token", "create", *words, "--json").json["id"]
        for words in (
            ("--organization", firm.name, "--expires", "never"),
            ("--user", "carol"),
            ("--user", firm.leaver),
        )
    ]
    execute(host, f"UPDATE tokens SET created_at = 1 WHERE id = '{ids[2]}'")
    mark = uuid4().hex[:8]
    (host.folder / "alone.yaml").write_text(f"users: [{{username: alone-{mark}}}]")
    host.succeed("directory", "apply", "alone.yaml")
    alone = host.succeed("token", "create", "--user", f"alone-{mark}", "--json").json["id"]
    text = host.run("doctor").out
    by_kind = {
        what: next((line for line in text.splitlines() if what in line), "")
        for what in ("never expire", "without a membership", "not used for 90 days")
    }
    assert f"{ids[0]} (organization {firm.name})" in by_kind["never expire"]
    assert f"{alone} (user alone-{mark})" in by_kind["without a membership"]
    assert ids[1] not in by_kind["without a membership"]
    assert f"{ids[2]} (user {firm.leaver})" in by_kind["not used for 90 days"]
    host.succeed("user", "disable", f"alone-{mark}")
    assert alone not in host.run("doctor").out
    for id_ in (*ids, alone):
        host.succeed("token", "revoke", id_)


def test_access_says_who_may_read_and_write_and_through_what(firm: Firm) -> None:
    host = firm.served_host.host
    host.succeed("token", "create", "--team", f"{firm.name}/crew")
    host.succeed("token", "create", "--organization", firm.name)
    host.succeed("user", "disable", firm.leaver)
    found = host.succeed("access", f"{firm.name}/network", "--json").json
    keys = ("type", "name", "access", "through", "standing")
    assert [tuple(row[key] for key in keys) for row in found["holders"]] == [
        ("user", firm.owner, "owner", "owners", "active"),
        ("organization-token", firm.name, "owner", firm.name, "active"),
        ("user", firm.leaver, "write", "crew", "disabled"),
        ("team-token", "crew", "write", "crew", "active"),
    ]
    told = host.succeed("access", f"{firm.name}/network")
    assert [line.split()[-1] for line in told.out.splitlines()][2] == "disabled"
    assert "disabled users have none" in told.err
    assert host.run("access", "network").code == 2


def test_an_export_is_a_file_that_apply_takes_without_a_change(firm: Firm) -> None:
    host = firm.served_host.host
    host.succeed("user", "disable", firm.leaver)
    for words in ((), (firm.name,)):
        done = host.succeed("directory", "export", *words)
        assert f"User {firm.leaver} is disabled, which the file cannot say." in done.err
        assert host.succeed("directory", "export", *words).out == done.out
        (host.folder / "export.yaml").write_text(done.out)
        look = host.run("directory", "apply", "export.yaml", "--dry-run", "--prune")
        assert (look.code, look.out) == (0, ""), look.err + look.out
        assert (firm.leaver in done.out, "acme" in done.out) == (True, words == ())
    (host.folder / "export.json").write_text(host.succeed("directory", "export", "--json").out)
    assert host.run("directory", "apply", "export.json", "--dry-run").code == 0


def test_an_export_says_what_a_file_cannot(firm: Firm) -> None:
    host = firm.served_host.host
    with firm.served_host.server.client(firm.owner_token) as client:
        path = f"/api/v2/organizations/{firm.name}/organization-memberships"
        attributes = {"email": f"ida-{firm.name}@example.com"}
        data = {"data": {"type": "organization-memberships", "attributes": attributes}}
        assert client.post(path, json=data, headers=JSON_API).status_code == 201
    execute(
        host,
        "UPDATE grants SET access = 'plan', level = 1 WHERE organization_id = "
        f"(SELECT id FROM organizations WHERE name = '{firm.name}')",
    )
    done = host.succeed("directory", "export", firm.name)
    assert f"Team {firm.name}/crew has grants that a file has no word for" in done.err
    assert f"User ida-{firm.name}@example.com was only invited so far" in done.err
    (host.folder / "export.yaml").write_text(done.out)
    look = host.run("directory", "apply", "export.yaml", "--dry-run")
    assert (look.code, look.out) == (0, "")


def test_a_link_to_an_account_of_no_provider_says_that_nobody_signs_in_by_it(firm: Firm) -> None:
    issuer, subject = "https://login.example.com", uuid4().hex
    provider = {"title": "Us", "issuer": issuer, "client_id": "us", "organizations": [firm.name]}
    host = firm.served_host.host.having(
        public_url="https://vars.example.com", providers=json.dumps({"company": provider})
    )
    for said, warned in ((issuer, False), (f"{issuer}/", True)):
        account = (firm.leaver, "--issuer", said, "--subject", subject)
        told = host.succeed("user", "link", *account).err
        assert f"This account signs in as {firm.leaver}" in told
        assert (f"No provider here has the issuer {issuer}/" in told) is warned
        assert "No provider" not in host.succeed("user", "link", *account, "--remove").err
