"""What `doctor` makes of what it finds."""

import pytest

from teamvars.domain.diagnosis import (
    CLOCK_TOLERANCE,
    MOST_SEALS,
    Engine,
    Losses,
    Pooler,
    Severity,
    address_findings,
    damage_findings,
    disk_finding,
    engine_findings,
    entry_findings,
    loss_findings,
    mail_findings,
    seal_findings,
    token_findings,
    trail_findings,
)
from teamvars.domain.invitations import Delivery
from teamvars.domain.tokens import IssuedToken, Suspects, Token

OK, ADVICE, PROBLEM = Severity


@pytest.mark.parametrize(
    ("free", "severity", "text"),
    [
        (36_864, PROBLEM, "Only 0 MiB are free on the database's disk, and changes fail"),
        (64 * 1024 * 1024 - 1, PROBLEM, "Only 63 MiB are free"),
        (64 * 1024 * 1024, OK, "the database's disk has room"),
    ],
)
def test_a_disk_without_room_for_changes_is_a_problem(free: int, severity: str, text: str) -> None:
    found = disk_finding(free)
    assert (found.severity, found.subject) == (severity, "disk")
    assert found.text.startswith(text)


VERSIONS = [
    ("SQLite", (3, 51, 2), PROBLEM, "can corrupt a database with two writers. Update apsw."),
    ("SQLite", (3, 51, 3), OK, ""),
    ("SQLite", (3, 54, 0), OK, ""),
    ("PostgreSQL", (14, 3), PROBLEM, "can corrupt indexes. Update to 14.4 or later, and reindex."),
    ("PostgreSQL", (14, 4), ADVICE, "no longer gets fixes. Plan an upgrade."),
    ("PostgreSQL", (13, 22), ADVICE, "no longer gets fixes. Plan an upgrade."),
    ("PostgreSQL", (15, 0), OK, ""),
]


@pytest.mark.parametrize(("name", "version", "severity", "text"), VERSIONS)
def test_versions_that_corrupt_data_are_told_apart(
    name: str, version: tuple[int, ...], severity: str, text: str
) -> None:
    (found,) = engine_findings(Engine(name, version), 0)
    assert found.severity == severity
    assert found.subject == "engine"
    assert text in found.text


def test_settings_that_lose_acknowledged_changes_are_problems() -> None:
    engine = Engine("PostgreSQL", (17, 0), ("fsync off", "synchronous_commit off"))
    found = engine_findings(engine, 0)[1:]
    assert [one.severity for one in found] == [Severity.PROBLEM] * 2
    assert all("acknowledged changes may get lost. Turn it on." in one.text for one in found)


def test_standbys_that_are_gone_are_a_problem() -> None:
    (_, found) = engine_findings(Engine("PostgreSQL", (17, 0), missing_standbys=2), 0)
    assert (found.severity, found.subject) == (PROBLEM, "standby")
    assert "not connected: 2. No change can be committed meanwhile." in found.text


@pytest.mark.parametrize("pooler", [Pooler.SESSION, Pooler.TRANSACTION])
def test_through_a_pooler_it_is_said_how_settings_get_there_and_which_do_not(
    pooler: Pooler,
) -> None:
    (_, found) = engine_findings(Engine("PostgreSQL", (17, 0), pooler=pooler), 0)
    assert (found.severity, found.subject) == (Severity.OK, "pooler")
    lacking = Engine("PostgreSQL", (17, 0), pooler=pooler, unset=("jit = off", "lock_timeout = 5s"))
    (_, found) = engine_findings(lacking, 0)
    assert (found.severity, found.subject) == (PROBLEM, "pooler")
    assert "without jit = off, lock_timeout = 5s." in found.text


@pytest.mark.parametrize(("more", "told"), [(-1, []), (0, []), (1, [(PROBLEM, "clock")])])
def test_an_entry_of_the_future_tells_of_a_wrong_clock(
    more: int, told: list[tuple[Severity, str]]
) -> None:
    found = entry_findings(7 + CLOCK_TOLERANCE + more, 7)
    assert [(one.severity, one.subject) for one in found] == told


@pytest.mark.parametrize("sign", [1, -1])
def test_clocks_that_are_apart_are_a_problem_beyond_the_tolerance(sign: int) -> None:
    now = 10 * CLOCK_TOLERANCE
    apart = Engine("PostgreSQL", (17, 0), clock=now + sign * (CLOCK_TOLERANCE + 1))
    assert [one.subject for one in engine_findings(apart, now)] == ["engine", "clock"]
    within = Engine("PostgreSQL", (17, 0), clock=now + sign * CLOCK_TOLERANCE)
    assert [one.subject for one in engine_findings(within, now)] == ["engine"]


@pytest.mark.parametrize(
    ("callers", "is_told"),
    [
        ({"127.0.0.1": 3}, True),
        ({"127.0.0.1": 2, "::1": 2}, True),
        ({"10.1.2.3": 50}, True),
        ({"127.0.0.1": 2}, False),
        ({"127.0.0.1": 50, "10.1.2.3": 1}, False),
        ({"10.1.2.3": 50, "10.1.2.4": 50}, False),
        ({"8.8.8.8": 50}, False),
        ({"no address": 50}, False),
        ({}, False),
    ],
)
def test_many_callers_at_one_address_tell_of_a_proxy(
    callers: dict[str, int], is_told: bool
) -> None:
    told = address_findings(callers)
    assert [(one.severity, one.subject) for one in told] == [(ADVICE, "addresses")] * is_told


@pytest.mark.parametrize(
    ("server", "counted", "told"),
    [
        (None, {}, ["not set up"]),
        ("mx", {}, ["by mx; messages that wait: 3"]),
        ("mx", {Delivery.WAITING: 2, Delivery.SENT: 1}, ["by mx; messages that wait: 5"]),
        (None, {Delivery.WAITING: 2}, ["not set up", "has: 2, refused by a mail server: 0"]),
        ("mx", {Delivery.NONE: 1}, ["by mx", "has: 1, refused by a mail server: 0"]),
        ("mx", {Delivery.FAILED: 3}, ["by mx", "has: 3, refused by a mail server: 3"]),
    ],
)
def test_invitations_whose_link_nobody_has_are_counted(
    server: str | None, counted: dict[Delivery, int], told: list[str]
) -> None:
    found = mail_findings(server, counted, memos=3)
    assert [one.severity for one in found] == [OK, ADVICE][: len(told)]
    assert all(text in one.text for one, text in zip(found, told, strict=True))


def test_some_are_named_and_how_many_more_there_are_is_told() -> None:
    token = IssuedToken(Token("at-1", "user", "user-1", 1, None, None), "bob")
    none, all_, some = Suspects((), 0), Suspects((token,), 1), Suspects((token,), 3)
    first, second = token_findings(all_, none, some)
    assert "never expire (1): at-1 (user bob). Give" in first.text
    assert "not used for 90 days (3): at-1 (user bob) and 2 more. Revoke" in second.text
    assert token_findings(none, none, none) == []

    assert "(2): s-1, s-2. Changes" in trail_findings(["s-1", "s-2"], 2)[0].text
    assert "(3): s-1, s-2 and 1 more. Changes" in trail_findings(["s-1", "s-2", "s-3"], 2)[0].text
    assert trail_findings([], 2)[0].severity is OK

    lost, more = Losses(("ws-1 a", "ws-2 b"), 2), Losses(("ws-1 a",), 2)
    nothing = Losses((), 0)
    said = loss_findings(
        usages=lost, entries=more, streams=nothing, places=nothing, data_keys=nothing
    )
    assert [(one.severity, one.subject) for one in said] == [
        (PROBLEM, "variables"),
        (PROBLEM, "audit"),
    ]
    assert "(2): ws-1 a; ws-2 b. Restore" in said[0].text
    assert "(2): ws-1 a; and 1 more. Restore" in said[1].text
    well = loss_findings(
        usages=nothing, entries=nothing, streams=nothing, places=nothing, data_keys=nothing
    )
    assert [one.severity for one in well] == [OK]


@pytest.mark.parametrize(
    ("every", "text"), [(True, "every value whose data key opens"), (False, "doctor --all")]
)
def test_values_that_do_not_open_are_a_problem(every: bool, text: str) -> None:
    (well,) = damage_findings(Losses((), 0), 7, every=every)
    assert well.severity is OK
    assert well.text.startswith("7 open: ")
    assert text in well.text
    (found,) = damage_findings(Losses(("var-1",), 1), 7, every=every)
    assert found.severity is PROBLEM
    assert "(1, and 7 open): var-1. Write" in found.text


def test_a_data_key_that_may_have_sealed_many_values_wants_another() -> None:
    assert seal_findings("org-1", MOST_SEALS) == []
    (found,) = seal_findings("org-1", MOST_SEALS + 1)
    assert found.severity is ADVICE
    assert found.text.startswith("The data key of org-1 may have sealed 1,073,741,825 values")
