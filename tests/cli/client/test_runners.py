"""Runners from the command line, up to the job that is handed values by a real service."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
from joserfc.jwk import ECKey

from teamvars.domain.federation import GITHUB
from tests.cli.client.conftest import ORGANIZATION, PEOPLE
from tests.cli.store import execute
from tests.clients.test_terraform import terraform
from tests.storage.stores import migrated_host
from tests.support.commands import Host
from tests.support.desk import Desk
from tests.support.handing import Handing
from tests.support.jobs import job_token
from tests.support.openid_provider import Provider, provider
from tests.support.server import Server

__all__ = ["terraform"]

_KEY = ECKey.generate_key("P-256", {"kid": "github"})
CLAIMS = {"repository_id": "7", "event_name": "push", "ref": "refs/heads/main"}
PROVEN = [word for name, text in CLAIMS.items() for word in ("--condition", f"{name}={text}")]
SECRET = "canary-of-the-runner"
DELIVERED = "variable.deliver"


@dataclass(frozen=True)
class Federation:
    """A service that believes an issuer whose key the tests have."""

    host: Host
    server: Server
    pinned: str
    provider: Provider

    def approve(self, runner: dict[str, str]) -> None:
        """The operator approves what was made."""
        self.host.succeed("approvals", "approve", f"{runner['id']}@{runner['digest']}")


on_each_engine = pytest.mark.parametrize("federation", ["sqlite", "postgres"], indirect=True)
PLANNED = """\
variable "region" { type = string }
variable "password" {
  type = string
  sensitive = true
}
output "seen" {
  value = "${var.region} ${nonsensitive(sha256(var.password))}"
}
"""


@pytest.fixture(scope="module")
def federation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Federation]:
    """A service that accepts tokens of GitHub, by a key of the tests' own, and of a provider, whose
    keys it looks for; owners approve there.
    """
    folder = tmp_path_factory.mktemp("provider")
    with provider(folder) as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(found.authority))
        folder = tmp_path_factory.mktemp("federation")
        if hasattr(request, "param"):
            with migrated_host(request, folder) as host:
                yield from _federation(host, found)
        else:
            yield from _federation(Host(folder), found)


def _federation(host: Host, found: Provider) -> Iterator[Federation]:
    keys = host.folder / "github.json"
    keys.write_text(json.dumps({"keys": [_KEY.as_dict(private=False)]}))
    host = host.having(issuers=f"{GITHUB}={keys},{found.url}", runner_approval="owner")
    host.succeed("init")
    server = Server(host)
    server.host = host.having(public_url=server.url)
    with server:
        pinned = host.succeed("server-key", "show").out.strip()
        yield Federation(server.host, server, pinned, found)


@pytest.fixture
def owner(stranger: Desk, federation: Federation) -> Desk:
    """Alice, who owns an organization with a secret in its `network`."""
    name = f"office-{uuid4().hex[:12]}"
    path = federation.host.folder / f"{name}.yaml"
    users = ", ".join(f"{{username: {who}, email: {who}@example.com}}" for who in PEOPLE)
    path.write_text(ORGANIZATION.format(name=name, users=users))
    federation.host.succeed("directory", "apply", path)
    token = federation.host.succeed("token", "create", "--user", "alice").out.strip()
    stranger.succeed(
        *("login", "--address", federation.server.url, "--organization", name), given=token
    )
    desk = stranger.having(workspace="network")
    desk.succeed("vars", "set", "API_KEY", "--sensitive", given=SECRET)
    desk.succeed("vars", "set", "region=eu", "--category", "tool")
    return desk


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handing]:
    """What gives jobs their tokens."""
    with Handing() as issuer:
        issuer.github = lambda audience: job_token(
            None, key=_KEY, issuer=GITHUB, **{**CLAIMS, "aud": audience}
        )
        monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{issuer.url}/token?v=2")
        monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-runner")
        yield issuer


def job_of(owner: Desk, federation: Federation, tmp_path: Path) -> Desk:
    """A job elsewhere, where nobody has logged in."""
    (workspace,) = [
        one["id"]
        for one in owner.succeed("workspace", "list", "--json").json
        if one["name"] == "network"
    ]
    (home := tmp_path / "of-the-job").mkdir()
    desk = Desk(home, home=home)
    url = federation.server.url
    return desk.having(address=url, workspace=workspace, server_key=federation.pinned)


def test_a_runner_is_proposed_changed_and_deleted(owner: Desk) -> None:
    words = (
        "--issuer",
        GITHUB,
        *PROVEN,
        "-w",
        "network",
        "--pattern",
        "prod-*",
        "--max-ttl",
        "10m",
    )
    made = owner.succeed("runner", "create", "ci", *words, "--json").json
    assert (made["name"], made["status"], made["version"]) == ("ci", "proposed", 1)
    assert made["conditions"] == CLAIMS
    assert (made["max-ttl"], made["workspace-patterns"]) == (600, ["prod-*"])
    assert len(made["workspaces"]) == 1
    said = ("--description", "of main", "--no-sensitive", "--expires", "30d", "--name", "main")
    changed = owner.succeed("runner", "update", "CI", *said, "--json").json
    assert (changed["version"], changed["name"], changed["include-sensitive"]) == (2, "main", False)
    assert changed["conditions"] == CLAIMS
    assert changed["digest"] != made["digest"]
    assert [one["name"] for one in owner.succeed("runner", "list", "--json").json] == ["main"]
    assert "of main" in owner.succeed("runner", "show", made["id"]).out
    owner.succeed("runner", "delete", "main", "--yes")
    assert owner.run("runner", "show", "main").code == 5


def test_an_owner_approves_what_was_read_and_takes_it_back(owner: Desk) -> None:
    proposed = owner.succeed("runner", "create", "ci", "--issuer", GITHUB, *PROVEN, "-w", "network")
    *_, told, in_a_job = proposed.err.splitlines()
    program, *line = told.removeprefix("Next: ").split()
    assert (program, line[:2]) == ("teamvars", ["runner", "approve"])
    assert re.fullmatch(r"Then, in a job: teamvars run --workspace ws-\w+ -- CMD", in_a_job)
    assert owner.run("runner", "approve", line[2].partition("@")[0]).code == 2
    assert owner.run("runner", "approve", line[2][:-64] + "0" * 64).code == 6
    assert "version 1 of ci" in owner.succeed(*line).err
    assert owner.succeed("runner", "show", "ci", "--json").json["status"] == "approved"
    owner.succeed("runner", "revoke", "ci", "--yes")
    assert owner.succeed("runner", "show", "ci", "--json").json["status"] == "proposed"


def test_every_fault_of_a_runner_is_told(owner: Desk) -> None:
    refused = owner.run("runner", "create", "ci", "--issuer", GITHUB, "-w", "network")
    assert refused.code == 7
    assert "repository_id" in refused.err
    late = ("--expires", "999999999d")
    for words in (("--condition", "ref"), ("--expires", "never"), ("--max-ttl", "never"), late):
        wrong = owner.run("runner", "create", "ci", *words)
        assert (wrong.code, f"{words[0]} is " in wrong.err) == (2, True)


def test_who_would_be_handed_what_is_told_without_values(
    owner: Desk, federation: Federation
) -> None:
    words = ("--issuer", GITHUB, *PROVEN, "-w", "network", "--json")
    before = owner.succeed("run", "--explain")
    assert [line.split() for line in before.out.splitlines()] == [
        ["API_KEY", "environment", "from", "network", "handed", "to", "nobody"],
        ["region", "a", "variable", "of", "terraform", "from", "network", "handed", "to", "you"],
    ]
    federation.approve(owner.succeed("runner", "create", "ci", *words).json)
    told = owner.succeed("run", "--explain", "--only", "API_*").out
    assert told.split() == ["API_KEY", "environment", "from", "network", "handed", "to", "ci"]
    told = owner.succeed("run", "--explain", "--json").json
    assert [(one["key"], one["source"], one["to-you"], one["runners"]) for one in told] == [
        ("API_KEY", "network", False, ["ci"]),
        ("region", "network", True, ["ci"]),
    ]
    refused = owner.run("run", "--json", "--", "true")
    assert (refused.code, "--json is for --explain" in refused.err) == (125, True)


@on_each_engine
def test_a_job_is_told_what_it_would_be_handed_and_by_whom(
    owner: Desk, federation: Federation, github: Handing, tmp_path: Path
) -> None:
    job = job_of(owner, federation, tmp_path)
    words = ("--issuer", GITHUB, *PROVEN, "-w", "network", "--json")
    made = owner.succeed("runner", "create", "ci", *words).json
    refused = job.run("run", "--explain")
    assert refused.code == 125
    assert "has no approved runner" in refused.err
    federation.approve(made)
    told = job.succeed("run", "--explain")
    assert f"GitHub Actions: the runner {made['id']} would deliver ws-" in told.err
    assert [line.split() for line in told.out.splitlines()] == [
        ["API_KEY", "environment", "handed", "to", "this", "job"],
        ["region", "a", "variable", "of", "terraform", "handed", "to", "this", "job"],
    ]
    owner.succeed("runner", "update", "ci", "--no-sensitive")
    (line,) = job.succeed("run", "--explain", "--only", "API_*").out.splitlines()
    assert line.endswith("sensitive: not handed to this job")
    told = job.succeed("run", "--explain", "--json").json
    assert {one["key"]: one["handed-out"] for one in told} == {"API_KEY": False, "region": True}
    assert owner.succeed("deliveries", "list", "--json").json == []


def test_a_job_that_asks_what_it_would_be_handed_has_taken_a_token(
    owner: Desk, federation: Federation, tmp_path: Path
) -> None:
    words = ("--issuer", GITHUB, *PROVEN, "-w", "network", "--allow-unbound", "--json")
    federation.approve(owner.succeed("runner", "create", "ci", *words).json)
    service, job = federation.server.url, job_of(owner, federation, tmp_path)
    first, second = (job_token(None, key=_KEY, issuer=GITHUB, aud=service, **CLAIMS) for _ in "12")
    explained = job.having(id_token=first).succeed("run", "--explain")
    assert "good once" in explained.err
    assert "used before" in job.having(id_token=first).run("run", "--", "true").err
    both = job.having(id_token=first, id_token_2=second)
    assert both.succeed("run", "--", "sh", "-c", "echo $API_KEY").out == f"{SECRET}\n"


def test_an_approved_job_is_handed_values_and_leaves_a_receipt(
    owner: Desk, federation: Federation, github: Handing, tmp_path: Path
) -> None:
    job = job_of(owner, federation, tmp_path)
    words = ("--issuer", GITHUB, *PROVEN, "-w", "network", "--json")
    made = owner.succeed("runner", "create", "ci", *words).json
    refused = job.run("run", "--", "true")
    assert refused.code == 125
    assert "has no approved runner" in refused.err
    federation.approve(made)
    done = job.succeed("run", "--tf-var", "--", "sh", "-c", "echo $API_KEY $TF_VAR_region")
    assert done.out == f"{SECRET} eu\n"
    assert "GitHub Actions: delivered" in done.err
    listed = federation.host.succeed("audit", "list", "--limit", "20", "--json").out
    (receipt,) = [one for one in map(json.loads, listed.splitlines()) if one["action"] == DELIVERED]
    assert receipt["details"]["bound"] is True
    assert SECRET not in listed
    (shown,) = owner.succeed("deliveries", "list", "--json").json
    assert (shown["runner-name"], shown["workspace-name"], len(shown["versions"])) == (
        *("ci", "network"),
        2,
    )
    assert owner.succeed("deliveries", "list", "-w", "net*").out.count("ci") == 1
    assert owner.succeed("deliveries", "list", "-w", "network", "--key", "API_KEY").out
    assert owner.run("deliveries", "list", "-w", "network", "--key", "NONE").code == 5
    assert owner.succeed("deliveries", "list", "-w", "network", "--unused").out == ""
    owner.succeed("vars", "set", "-w", "network", "NEW=1")
    unused = owner.succeed("deliveries", "list", "-w", "network", "--unused").out
    assert unused.split() == ["network", "NEW", "env", "never"]
    assert owner.succeed("deliveries", "list", "--runner", "ci").out.count("network") == 1
    federation.host.succeed("approvals", "revoke", made["id"])
    assert job.run("run", "--", "true").code == 125
    assert "revoked since: rotate API_KEY" in owner.succeed("deliveries", "list").out


def test_a_runner_that_is_not_there_is_told_apart_from_one_that_was_handed_nothing(
    owner: Desk, federation: Federation, github: Handing, tmp_path: Path
) -> None:
    words = ("--issuer", GITHUB, *PROVEN, "-w", "network", "--json")
    made = owner.succeed("runner", "create", "ci", *words).json
    assert "Nothing was delivered." in owner.succeed("deliveries", "list", "--runner", "CI").err
    for more in ((), ("-w", "network")):
        unknown = owner.run("deliveries", "list", "--runner", "typo", *more)
        assert (unknown.code, unknown.out) == (5, "")
        assert "You see no runner typo." in unknown.err
    federation.approve(made)
    job_of(owner, federation, tmp_path).succeed("run", "--", "true")
    owner.succeed("runner", "delete", "ci", "--yes")
    (gone,) = owner.succeed("deliveries", "list", "--runner", made["id"], "--json").json
    assert gone["runner-status"] == "deleted"
    assert owner.run("deliveries", "list", "--runner", "ci").code == 5


@on_each_engine
def test_receipts_and_what_nobody_uses_are_told_beside_a_value_that_is_damaged(
    owner: Desk, federation: Federation
) -> None:
    damage = "UPDATE variables SET sealed_value = substr(sealed_value, 2) WHERE key = 'region'"
    execute(federation.host, damage)
    assert owner.run("vars", "list").code == 10
    unused = owner.succeed("deliveries", "list", "-w", "network", "--unused").out
    assert [line.split() for line in unused.splitlines()] == [
        ["network", "API_KEY", "env", "never"],
        ["network", "region", "tool", "never"],
    ]
    of_one = owner.succeed("deliveries", "list", "-w", "network", "--key", "API_KEY")
    assert "Nothing was delivered." in of_one.err
    assert owner.run("deliveries", "list", "-w", "network", "--key", "NONE").code == 5


def test_a_provider_of_others_says_what_a_job_is(
    owner: Desk, federation: Federation, github: Handing, tmp_path: Path
) -> None:
    job, said = job_of(owner, federation, tmp_path), federation.provider
    words = ("--issuer", said.url, "--condition", "sub=job-7", "-w", "network", "--json")
    federation.approve(owner.succeed("runner", "create", "ci", *words).json)
    github.github = lambda audience: said.id_token(audience, "job-7")
    assert job.succeed("run", "--", "sh", "-c", "echo $API_KEY").out == f"{SECRET}\n"
    for wrong in (
        lambda audience: said.id_token(audience, "job-8"),
        lambda audience: said.id_token(audience.partition("#")[0], "job-7"),
        lambda audience: said.id_token(audience.swapcase(), "job-7"),
        lambda audience: _altered(said.id_token(audience, "job-7")),
    ):
        github.github = wrong
        assert job.run("run", "--", "true").code == 125


def _altered(token: str) -> str:
    """The token with another signature."""
    head, claims, signature = token.split(".")
    return f"{head}.{claims}.{signature[::-1]}"


def machine_of(owner: Desk, federation: Federation, tmp_path: Path, *words: str) -> Desk:
    """A machine that is enrolled and approved, by a runner that says so."""
    job = job_of(owner, federation, tmp_path)
    public = job.succeed("runner", "init", "--server-key", federation.pinned).out.strip()
    said = ("--public-key", public, "--pattern", "net*", "--json", *words)
    federation.approve(owner.succeed("runner", "create", "laptop", *said).json)
    return job.having(server_key="")


@on_each_engine
def test_an_enrolled_machine_is_handed_values(
    owner: Desk, federation: Federation, tmp_path: Path
) -> None:
    done = machine_of(owner, federation, tmp_path).succeed("run", "--", "sh", "-c", "echo $API_KEY")
    assert done.out == f"{SECRET}\n"
    assert "The key of this machine: delivered" in done.err


def test_a_machine_knows_for_which_service_it_was_enrolled(
    owner: Desk, federation: Federation, tmp_path: Path
) -> None:
    machine = machine_of(owner, federation, tmp_path).having(address="")
    assert machine.succeed("run", "--", "sh", "-c", "echo $API_KEY").out == f"{SECRET}\n"
    other = ("--address", "https://other.example", "--server-key", federation.pinned)
    machine.succeed("runner", "init", *other)
    refused = machine.run("run", "--", "true")
    assert refused.code == 125
    assert "Nothing says where the service is" in refused.err
    assert f"{federation.server.url} and https://other.example: say which" in refused.err


@pytest.mark.parametrize("words", [("--", "true"), ("--explain",)])
def test_a_machine_that_is_enrolled_elsewhere_is_told_where_and_how_to_be_enrolled_here(
    owner: Desk, federation: Federation, tmp_path: Path, words: tuple[str, ...]
) -> None:
    machine = machine_of(owner, federation, tmp_path).having(address="https://other.example")
    refused = machine.run("run", *words)
    assert refused.code == 125
    assert "You are not logged in to https://other.example" in refused.err
    assert f"The key of this machine is for {federation.server.url}:" in refused.err
    assert "teamvars runner init --address https://other.example" in refused.err
    (machine.files / "machine.json").unlink()
    assert "The key of this machine" not in machine.run("run", *words).err


@on_each_engine
def test_a_machine_that_may_have_nothing_sensitive_is_told_what_is_missing(
    owner: Desk, federation: Federation, tmp_path: Path
) -> None:
    machine = machine_of(owner, federation, tmp_path, "--no-sensitive")
    refused = machine.run("run", "--", "true")
    assert refused.code == 125
    assert "API_KEY is sensitive" in refused.err
    *_, cause = refused.err.splitlines()
    assert "is handed nothing sensitive" in cause
    done = machine.succeed("run", "--allow-missing", "--tf-var", "--", "env")
    assert "TF_VAR_region=eu" in done.out
    assert SECRET not in done.out
    assert cause in done.err
    remedy = cause.partition("teamvars ")[2].split()
    federation.approve(owner.succeed(*remedy, "--json").json)
    assert machine.succeed("run", "--", "sh", "-c", "echo $API_KEY").out == f"{SECRET}\n"
    owner.succeed(*remedy[:-1], "--no-sensitive")
    given = machine.having(server_key="").at(tmp_path / "given")
    (given.folder / "own.env").write_text("API_KEY=of-this-machine\n")
    assert cause not in given.succeed("run", "--with", "own.env", "--", "true").err


@on_each_engine
def test_the_host_has_its_own_way_out_after_a_receipt(owner: Desk, federation: Federation) -> None:
    organization = owner.succeed("whoami", "--json").json["organization"]["value"]
    words = ("exec", f"{organization}/network", "--reason", "ticket 4711", "--")
    command = (*words, "sh", "-c", "echo $API_KEY")
    assert federation.host.run(*command).code != 0
    assert federation.host.having(allow_exec=True).succeed(*command).out == f"{SECRET}\n"
    listed = federation.host.succeed("audit", "list", "--limit", "20", "--json").out
    receipt = next(
        one for one in map(json.loads, listed.splitlines()) if one["action"] == DELIVERED
    )
    assert receipt["details"]["reason"] == "ticket 4711"


@on_each_engine
def test_a_plan_of_terraform_has_what_the_machine_is_handed(
    terraform: str, owner: Desk, federation: Federation, tmp_path: Path
) -> None:
    password = "canary-of-the-plan"
    owner.succeed("vars", "set", "password", "--category=tool", "--sensitive", given=password)
    owner.succeed("vars", "set", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
    machine = machine_of(owner, federation, tmp_path)
    (machine.folder / "main.tf").write_text(PLANNED)
    plan = ("terraform", "plan", "-input=false", "-no-color")
    seen = f"eu {sha256(password.encode()).hexdigest()}"
    for options in ((), ("--tf-var",)):
        planned = machine.succeed("run", *options, "--", *plan, "-out=planned")
        assert seen in planned.out
        assert password not in planned.out
    machine.succeed("run", "--", "terraform", "apply", "-no-color", "planned")
    told = machine.succeed("run", "--", "terraform", "output", "-raw", "seen")
    assert told.out == seen
    assert machine.run("run", "--", *plan, "-var", "region=us").code == 125
    owner.succeed("vars", "set", "password", "--category=tool", "--sensitive", given="another")
    assert f"eu {sha256(b'another').hexdigest()}" in machine.succeed("run", "--", *plan).out


def test_a_person_is_handed_nothing_sensitive(owner: Desk) -> None:
    refused = owner.run("run", "--", "true")
    assert refused.code == 125
    assert "API_KEY is sensitive" in refused.err
    done = owner.succeed("run", "--allow-missing", "--", "env")
    assert SECRET not in done.out
    assert "A person (teamvars login)" in done.err
