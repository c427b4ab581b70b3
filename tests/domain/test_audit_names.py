"""Names by the trail: what had one name after another, shares it with others, or was touched."""

import json
from typing import Any

import pytest

from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry
from teamvars.domain.audit_names import OPERATOR, ActorNames, AuditNames


def entry(stream: str, sequence: int, what: tuple[str, str, str], **details: Any) -> AuditEntry:
    action, type_, id_ = what
    text = json.dumps(details)
    row: Any = (
        "user",
        "user-1",
        None,
        "req-1",
        action,
        type_,
        id_,
        text,
        "ak-1",
        b"",
        2,
        None,
        b"",
    )
    return AuditEntry(stream, sequence, 0, *row)


def space(organization: str, sequence: int, id_: str, name: Any) -> AuditEntry:
    return entry(organization, sequence, ("workspace.create", "workspaces", id_), name=name)


ENTRIES = [
    space("org-1", 2, "ws-1", "network"),
    space("org-2", 2, "ws-2", "network"),
    # Its later name is in a stream of its own, where it comes before the creation in the system's.
    entry("org-1", 3, ("organization.update", "organizations", "org-1"), name="New"),
    entry(
        "org-1",
        4,
        ("workspace.rename", "workspaces", "ws-1"),
        name="Backbone",
        **{"from": "network"},
    ),
    space("org-1", 5, "ws-3", "network"),
    entry("system", 500, ("organization.create", "organizations", "org-1"), name="old"),
    entry("system", 501, ("organization.create", "organizations", "org-2"), name="other"),
]
NAMES = AuditNames(ENTRIES)


def test_the_last_name_is_shown_and_every_name_finds() -> None:
    assert [NAMES.of(id_) for id_ in ("org-1", "ws-1", "ws-3")] == [
        *("New", "New/Backbone", "New/network")
    ]
    for name in ("old", "NEW"):
        assert NAMES.called("organizations", name) == {"org-1"}
        assert NAMES.called("workspaces", f"{name}/network") == {"ws-1", "ws-3"}
        assert NAMES.called("workspaces", f"{name}/backbone") == {"ws-1"}


def test_a_name_alone_finds_all_that_have_it_and_a_path_those_of_one_organization() -> None:
    assert NAMES.called("workspaces", "network") == {"ws-1", "ws-2", "ws-3"}
    assert NAMES.called("workspaces", "other/network") == {"ws-2"}
    assert NAMES.called("teams", "network") == set()
    assert NAMES.called("workspaces", "nobody/network") == set()
    assert NAMES.inside("org-1") == {"ws-1", "ws-3"}


def test_an_id_is_known_with_its_type_once_something_has_it() -> None:
    found = [
        NAMES.is_a(type_, id_) for id_ in ("ws-1", "ws-9") for type_ in ("workspaces", "teams")
    ]
    assert found == [True, False, False, False]


def test_who_acted_where_and_with_what_is_named_and_an_operator_by_the_account() -> None:
    by_user = entry("org-1", 9, ("any", "vars", "var-1"))._replace(actor_id="ws-1", token_id="at-1")
    by_operator = by_user._replace(actor_kind=OPERATOR, stream_id=SYSTEM_STREAM, token_id=None)
    assert (NAMES.of_actor(by_user), NAMES.of_stream(by_user)) == ("New/Backbone", "New")
    assert (NAMES.of_actor(by_operator), NAMES.of_stream(by_operator)) == ("ws-1", SYSTEM_STREAM)
    told = ActorNames({"ws-1": "alice", "org-1": "acme"}, {"at-1": "ci"})
    assert (told.of_actor(by_user), told.of_token(by_user)) == ("alice", "ci")
    assert (told.of_actor(by_operator), told.of_token(by_operator)) == (None, None)
    assert told.of_token(by_user._replace(token_id="at-2")) is None


@pytest.mark.parametrize("type_", ["projects", "nouns-to-come"])
def test_whatever_an_organization_has_is_named_with_it(type_: str) -> None:
    made = entry("org-1", 6, ("noun.create", type_, "new-1"), name="live")
    told = [names.of("new-1") for names in (AuditNames([made, *ENTRIES]), AuditNames([made]))]
    assert told == ["New/live", "org-1/live"]


def test_the_name_of_a_team_may_have_a_slash() -> None:
    made = [
        entry("org-1", 6, ("team.create", "teams", "team-1"), name="eu/crew"),
        entry("org-1", 7, ("team.create", "teams", "team-2"), name="crew"),
    ]
    names = AuditNames([*made, *ENTRIES])
    assert names.called("teams", "eu/crew") == names.called("teams", "New/eu/crew") == {"team-1"}
    assert names.called("teams", "New/crew") == {"team-2"}


def test_whoever_was_invited_goes_by_the_address_until_they_have_a_name() -> None:
    invited = [
        entry("org-1", n, ("invitation.create", "invitations", "ou-1"), user=user, email=email)
        for n, user, email in ((6, "user-1", "a@x"), (7, "user-2", 7), (8, None, "b@x"))
    ]
    named = entry("system", 9, ("user.update", "users", "user-1"), username="alice")
    assert AuditNames(invited).of("user-1") == "a@x"
    assert AuditNames(invited).called("users", "B@x") == set()
    names = AuditNames([*invited, named])
    assert [names.of(id_) for id_ in ("user-1", "user-2")] == ["alice", None]
    assert names.called("users", "A@x") == names.called("users", "alice") == {"user-1"}
    assert AuditNames([named, *invited]).of("user-1") == "alice"


@pytest.mark.parametrize(
    ("type_", "id_", "details", "name"),
    [
        ("workspaces", "ws-1", {"key": "region", "user": "ws-3"}, "New/Backbone"),
        ("workspaces", "ws-9", {"name": "gone"}, None),
        ("vars", "var-1", {"key": "ws-1"}, "ws-1"),
        ("vars", "var-1", {"key": 7}, None),
        ("organization-memberships", "ou-1", {"user": "ws-1"}, "New/Backbone"),
        ("organization-memberships", "ou-1", {"user": ["ws-1"]}, None),
    ],
)
def test_what_an_entry_is_about_is_called_as_people_know_it(
    type_: str, id_: str, details: dict[str, Any], name: str | None
) -> None:
    assert NAMES.of_subject(entry("org-1", 9, ("any", type_, id_), **details)) == name


def test_a_touched_entry_names_nothing_and_stops_nothing() -> None:
    touched: Any = [
        space("org-1", 6, "ws-4", 7),
        space("org-1", 7, "ws-5", "x")._replace(details="["),
        space("org-1", 8, "ws-6", "x")._replace(subject_id=b"\xff"),  # type: ignore[arg-type]
    ]
    later = [space("org-1", 9, "ws-1", 7), space("org-1", 10, "ws-3", None)]
    names = AuditNames([*touched, *ENTRIES, *later])
    assert names.of("ws-1") == "New/Backbone"
    assert names.of("ws-3") == "New/network"
    assert [names.of(id_) for id_ in ("ws-4", "ws-5", "ws-6")] == [None, None, None]
    assert names.of_subject(touched[2]) is None
