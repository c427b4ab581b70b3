"""The same with each of many workspaces: some at a time, each on a connection of its own."""

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from teamvars.cli.client.api import Api
from teamvars.cli.exits import NO_CONNECTION, UNAUTHENTICATED, UNKNOWN_OUTCOME, Failure

_AT_ONCE = 8
"""As many as a service works on for one caller while there are others."""
_FOR_ALL = {
    UNAUTHENTICATED: UNAUTHENTICATED,
    NO_CONNECTION: NO_CONNECTION,
    UNKNOWN_OUTCOME: NO_CONNECTION,
}
"""What keeps all that follow from being tried, and what these end with."""

T = TypeVar("T")
R = TypeVar("R")


def with_all(api: Api, those: Sequence[T], do: Callable[[Api, T], R]) -> list[R]:
    """What comes of each, in their order. Fails as the first that does."""
    if len(those) == 1:  # which needs no other thread
        return [do(api, those[0])]
    found = []
    for made in with_each(api, those, do):
        if isinstance(made, Failure):
            raise made
        found.append(made)
    return found


def with_each(api: Api, those: Sequence[T], do: Callable[[Api, T], R]) -> Iterator[R | Failure]:
    """What comes of each, in their order, or how it fails. Where the token has ended or the service
    has gone, those that follow are not tried.
    """
    outcomes: list[SimpleQueue[R | BaseException]] = [SimpleQueue() for _ in those]
    waiting = iter(list(zip(those, outcomes, strict=True)))
    ended: list[Failure] = []

    def do_next() -> None:
        own = None
        for one, outcome in waiting:
            try:
                own = own or api.beside()
                outcome.put(ended[0] if ended else do(own, one))
            except BaseException as error:  # whatever it is, somebody waits for it
                outcome.put(error)
                if isinstance(error, Failure) and error.code in _FOR_ALL:
                    code = _FOR_ALL[error.code]
                    ended.append(Failure("Not tried, after the failures above.", code))

    for _ in range(min(_AT_ONCE, len(those))):
        Thread(target=do_next, daemon=True).start()
    for outcome in outcomes:
        made = outcome.get()
        if isinstance(made, BaseException) and not isinstance(made, Failure):
            raise made
        yield made
