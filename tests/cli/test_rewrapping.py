"""`keys rewrap`: what it says, and how it ends."""

import time

import pytest

from teamvars.cli.exits import CONFLICT, DIFFERENCES, Failure
from teamvars.cli.operator import keys
from teamvars.services.data_keys import Outcome, Progress, UnderWay
from tests.cli.store import execute
from tests.support.commands import Host
from tests.support.patience import HANGS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_it_says_how_far_it_is_and_how_long_the_rest_may_take(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    telling = keys._Telling()
    for seconds, done in ((0, 1000), (1, 2000), (5, 6000), (6, 6500), (10, 6000)):
        clock[0] = 1000.0 + seconds
        telling.tell(Progress(done, 11_000))
    assert capsys.readouterr().err.splitlines() == [
        "6,000 of 11,000 values, 1,000 a second, 5 s left",
        "6,000 of 11,000 values, 500 a second, 10 s left",
    ]


def test_what_it_has_waited_before_it_began_is_not_in_its_pace(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    telling = keys._Telling()
    for seconds, done in ((8, 1000), (10, 3000), (13, 6000)):
        clock[0] = 1000.0 + seconds
        telling.tell(Progress(done, 11_000))
    assert capsys.readouterr().err == "6,000 of 11,000 values, 1,000 a second, 5 s left\n"


def test_it_says_no_time_as_long_as_it_has_done_nothing(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    telling = keys._Telling()
    telling.tell(Progress(0, 10))
    clock[0] += 5
    telling.tell(Progress(0, 10))
    assert capsys.readouterr().err == "0 of 10 values, 0 a second\n"


def test_it_ends_with_6_while_another_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object, **__: object) -> Outcome:
        raise UnderWay

    monkeypatch.setattr(keys, "run", run)
    assert keys.rewrap.callback is not None
    with pytest.raises(Failure) as raised:
        keys.rewrap.callback(rate=None)
    assert raised.value.code == CONFLICT


def test_it_names_what_does_not_open_and_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = Outcome(7, ["variables: The value of var-1 does not open."])
    monkeypatch.setattr(keys, "run", lambda _, **__: outcome)
    assert keys.rewrap.callback is not None
    with pytest.raises(SystemExit) as raised:
        keys.rewrap.callback(rate=None)
    assert raised.value.code == DIFFERENCES
    shown = capsys.readouterr()
    assert shown.out == "sealed 7\n"
    assert "The value of var-1 does not open.\n1 did not open" in shown.err


def test_a_job_that_a_killed_one_has_left_is_taken_over(migrated_host: Host) -> None:
    host = migrated_host
    host.succeed("init")
    held = int(HANGS) * 10**15
    execute(
        host,
        "INSERT INTO rewraps (id, holder, held_until, generation, part, after, done) "  # noqa: S608
        f"VALUES ('rewrap', 'gone', {held}, 1, 1, 'var-', 4)",
    )
    done = host.succeed("keys", "rewrap", "--rate", 50)
    assert done.out == "sealed 4\n"
    assert host.succeed("keys", "rewrap").out == "sealed 0\n"
    assert host.run("keys", "rewrap", "--rate", 0).code == 2
    (row,) = [one for one in host.succeed("keys", "status", "--json").json if one["id"] == "data-1"]
    said = {"purpose": "data", "id": "data-1", "active": True, "wraps": 0, "needed": 0}
    assert row == {**said, "lacking": False}
