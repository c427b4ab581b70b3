"""`token create`, `list` and `revoke`: contract §7."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import time
from datetime import datetime

import pytest

from teamvars.domain.times import DAY, in_24_months, microseconds
from teamvars.security.tokens import is_token, new_token
from tests.cli.conftest import ServedHost
from tests.cli.store import execute
from tests.support.commands import Host
from tests.support.engines import HOST_ON_SQLITE


def status(served_host: ServedHost, token: str) -> int:
    """What the API says to the token; a new connection, so that either worker may answer."""
    with served_host.server.client(token) as client:
        return client.get(served_host.vars_path).status_code


def test_a_token_is_shown_once_works_at_once_and_ends_at_once(served_host: ServedHost) -> None:
    made = served_host.host.succeed(
        "token", "create", "--user", "alice", "--expires", "12h", "--json"
    )
    assert set(made.json) == {"id", "token"}
    id_, token = made.json["id"], made.json["token"]
    assert id_.startswith("at-")
    assert is_token(token)
    assert made.said == ""
    assert [status(served_host, token) for _ in range(4)] == [200] * 4

    listed = served_host.host.succeed("token", "list", "--json")
    row = next(row for row in listed.json if row["id"] == id_)
    assert row["owner"] == f"user {served_host.applied['users']['alice']}"
    lifetime = datetime.fromisoformat(row["expires"]) - datetime.fromisoformat(row["created"])
    assert lifetime.total_seconds() == 12 * 3600
    for form in (
        listed,
        served_host.host.succeed("token", "list"),
        served_host.host.succeed("audit", "list"),
    ):
        assert id_ in form.out
        assert token not in form.out + form.err

    assert served_host.host.succeed("token", "revoke", id_).out.startswith(f"{id_}  user alice  ")
    assert [status(served_host, token) for _ in range(4)] == [401] * 4
    assert id_ not in served_host.host.succeed("token", "list").out
    again = served_host.host.run("token", "revoke", id_)
    assert (again.code, again.out) == (5, "")


def test_a_token_is_made_for_a_user_by_name_address_or_id(served_host: ServedHost) -> None:
    id_ = served_host.applied["users"]["alice"]
    for who in ("alice", "alice@example.com", id_):
        made = served_host.host.succeed("token", "create", "--user", who, "--json").json["id"]
        assert served_host.host.succeed("token", "revoke", made).out.startswith(
            f"{made}  user alice"
        )
    nobody = served_host.host.run("token", "create", "--user", "nobody@example.com")
    assert (nobody.code, nobody.said) == (5, "teamvars: There is no user nobody@example.com.\n")


def test_a_token_ends_after_90_days_and_one_of_a_team_or_organization_after_24_months(
    served_host: ServedHost,
) -> None:
    owners = (("--user", "alice"), ("--team", "acme/platform"), ("--organization", "acme"))
    made = [served_host.host.succeed("token", "create", *owner, "--json").json for owner in owners]
    rows = {row["id"]: row for row in served_host.host.succeed("token", "list", "--json").json}
    times = [
        [microseconds(datetime.fromisoformat(rows[one["id"]][at])) for at in ("created", "expires")]
        for one in made
    ]
    expected = [times[0][0] + 90 * DAY, *(in_24_months(created) for created, _ in times[1:])]
    assert [expires for _, expires in times] == expected


def test_a_token_of_which_nobody_says_how_long_it_lives_ends_as_its_organization_allows(
    served_host: ServedHost,
) -> None:
    host = served_host.host
    (host.folder / "limited.yaml").write_text(
        "organizations: [{name: limited, members: {alice: active}, "
        "teams: [{name: owners, members: [alice]}]}]"
    )
    host.succeed("directory", "apply", "limited.yaml")
    with served_host.server.client(served_host.token) as client:
        for where, type_, attributes in (
            ("", "organizations", {"max-ttl-enabled": True}),
            (
                "/token-ttl-policies",
                "organization-token-ttl-policies",
                {"token-ttl-policies": [{"token-type": "team", "max-ttl-ms": 3_600_000}]},
            ),
        ):
            document = {"data": {"type": type_, "attributes": attributes}}
            client.patch(
                f"/api/v2/organizations/limited{where}",
                json=document,
                headers={"Content-Type": "application/vnd.api+json"},
            ).raise_for_status()
    made = host.succeed("token", "create", "--team", "limited/owners", "--json").json
    rows = {row["id"]: row for row in host.succeed("token", "list", "--json").json}
    begins, ends = (datetime.fromisoformat(rows[made["id"]][at]) for at in ("created", "expires"))
    assert (ends - begins).total_seconds() == 3600
    too_long = host.run("token", "create", "--team", "limited/owners", "--expires", "2h")
    assert too_long.code == 7
    assert "The organization limits how long such a token lives" in too_long.err


@pytest.mark.parametrize(
    ("options", "prefix", "answer"),
    [
        (("--team", "acme/platform"), "tvt_", 200),
        (("--team", "ACME/Owners"), "tvt_", 200),
        (("--organization", "acme"), "tvo_", 200),
        (("--user", "carol"), "tvu_", 404),
    ],
)
def test_a_token_can_be_for_a_user_a_team_or_an_organization(
    served_host: ServedHost, options: tuple[str, ...], prefix: str, answer: int
) -> None:
    done = served_host.host.succeed("token", "create", *options)
    token = done.out.strip()
    assert token.startswith(prefix)
    assert "It is shown only this once." in done.err
    assert token not in done.err
    assert status(served_host, token) == answer


@pytest.mark.parametrize(
    ("options", "thing"),
    [
        (("--user", "nobody"), "user nobody"),
        (("--team", "acme/none"), "team acme/none"),
        (("--team", "no/owners"), "organization no"),
        (("--organization", "x"), "organization x"),
    ],
)
def test_a_token_for_nobody_is_not_found_by_name(
    served_host: ServedHost, options: tuple[str, ...], thing: str
) -> None:
    done = served_host.host.run("token", "create", *options)
    assert (done.code, done.out) == (5, "")
    assert done.said == f"teamvars: There is no {thing}.\n"


@HOST_ON_SQLITE
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--user", "alice", "--organization", "acme"),
        ("--team", "acme"),
        ("--team", "acme/"),
        ("--team", "/owners"),
        ("--user", "alice", "--expires", "0d"),
        ("--user", "alice", "--expires", "-1d"),
        ("--user", "alice", "--expires", "1w"),
        ("--user", "alice", "--expires", "90"),
        ("--user", "alice", "--expires", ""),
        ("--user", "alice", "--expires", "1d 2h"),
        ("--user", "alice", "--expires", "9999999999999d"),
        ("--user", "alice", "--expires", "99999999d"),
        ("--user", "alice", "--expires", "999999999d"),
        ("--user", "alice", "--unknown"),
    ],
)
def test_a_command_that_makes_no_sense_is_a_usage_error(
    served_host: ServedHost, options: tuple[str, ...]
) -> None:
    before = tokens_of(served_host)
    done = served_host.host.run("token", "create", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err
    assert tokens_of(served_host) == before


def tokens_of(served_host: ServedHost) -> list[str]:
    """The ids of all tokens; when one was used last may be stored at any moment."""
    return [row["id"] for row in served_host.host.succeed("token", "list", "--json").json]


def test_every_unit_of_a_duration_is_understood(served_host: ServedHost) -> None:
    for text, seconds in (("90d", 90 * 86400), ("12h", 43200), ("30m", 1800), ("45s", 45)):
        made = served_host.host.succeed(
            "token", "create", "--user", "bob", "--expires", text, "--json"
        )
        rows = served_host.host.succeed("token", "list", "--json").json
        row = next(row for row in rows if row["id"] == made.json["id"])
        ends, begins = (datetime.fromisoformat(row[name]) for name in ("expires", "created"))
        assert (ends - begins).total_seconds() == seconds


def test_a_token_ends_when_it_expires(served_host: ServedHost) -> None:
    done = served_host.host.succeed("token", "create", "--user", "alice", "--expires", "1s")
    time.sleep(1.05)
    assert status(served_host, done.out.strip()) == 401


def test_a_command_on_an_unknown_token_finds_nothing(served_host: ServedHost) -> None:
    unknown = served_host.host.run("token", "revoke", "at-none")
    assert (unknown.code, unknown.said) == (5, "teamvars: There is no token at-none.\n")
    token = new_token("user")
    pasted = served_host.host.run("token", "revoke", token)
    assert pasted.code == 5
    assert token not in pasted.err
    assert served_host.host.run("token", "revoke").code == 2


def test_help_is_no_error_and_an_unknown_command_is_one(host: Host) -> None:
    assert host.run("token", "--help").code == 0
    assert host.run("--version").out.startswith("teamvars ")
    assert host.run("tokens").code == 2
    assert host.run("token", "make").code == 2


def test_a_touched_row_hides_no_other_token_and_is_named(served_host: ServedHost) -> None:
    id_ = served_host.host.succeed("token", "create", "--user", "bob", "--json").json["id"]
    whole = served_host.host.succeed("token", "list").out.splitlines()
    execute(
        served_host.host,
        "UPDATE tokens SET expires_at = 9223372036854775807, created_at = -9223372036854775807 "
        f"WHERE id = '{id_}'",
    )
    for options in ((), ("--json",)):
        done = served_host.host.run("token", "list", *options)
        assert done.code == 1
        assert f"token {id_} was touched: created, expires" in done.err
        assert all(line.split()[0] in done.out for line in whole)
        if options:
            row = next(row for row in done.json if row["id"] == id_)
            assert (row["created"], row["expires"]) == (None, None)
    served_host.host.succeed("token", "revoke", id_)
    assert served_host.host.run("token", "list").code == 0


def test_a_token_whose_owner_was_deleted_by_hand_is_listed_by_the_owners_id(host: Host) -> None:
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(
        "users: [{username: ann}]\n"
        "organizations: [{name: acme, members: {ann: active}, teams: [{name: crew}]}]\n"
    )
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    owners = {
        f"user {applied['users']['ann']}": ("--user", "ann"),
        f"team {applied['organizations']['acme']['teams']['crew']}": ("--team", "acme/crew"),
    }
    made = {
        host.succeed("token", "create", *of, "--json").json["id"]: whose
        for whose, of in owners.items()
    }
    execute(host, "DELETE FROM users")
    execute(host, "DELETE FROM teams")
    listed = host.succeed("token", "list").out.splitlines()
    assert {line.split()[0]: " ".join(line.split()[1:3]) for line in listed} == made
