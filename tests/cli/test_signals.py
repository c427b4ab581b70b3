"""What a signal that ends a command leaves to be cleared up."""

import signal

import pytest

from teamvars.cli.exits import clearing_up


def test_a_second_signal_interrupts_nothing_that_is_cleared_up() -> None:
    """A terminal that closes sends one, and its shell another."""
    before = signal.getsignal(signal.SIGTERM)
    cleared = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGQUIT)
            cleared.append("all")

    with pytest.raises(SystemExit) as ended, clearing_up():
        work()
    assert ended.value.code == 128 + signal.SIGTERM
    assert cleared == ["all"]
    assert signal.getsignal(signal.SIGTERM) == before
