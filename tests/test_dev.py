"""`dev.py` brings up what its commands need, also where two of them begin at once."""

import fcntl
from pathlib import Path

import pytest

import dev


def test_whoever_installs_keeps_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    brought_up = []

    def bring_up(lists: list[str]) -> None:
        with Path(dev.__file__).open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        brought_up.append(lists)

    monkeypatch.setattr(dev, "has", lambda lists: False)
    monkeypatch.setattr(dev, "bring_up", bring_up)
    dev.install("bench")
    assert brought_up == [["dev", "bench"]]
    with dev.alone():  # which is free again
        pass


def test_what_another_has_installed_meanwhile_is_not_installed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = iter((False, True))
    monkeypatch.setattr(dev, "has", lambda lists: next(found))
    monkeypatch.delattr(dev, "bring_up")
    dev.install("dev")
    assert list(found) == []
