"""`version`."""

import time
from typing import Any

import msgspec

from teamvars import __version__
from teamvars.cli.client.addresses import Address
from teamvars.cli.client.options import AsJson, placed
from teamvars.cli.client.place import Where, located, travel_of
from teamvars.cli.client.transport import Connection, NoAnswerError, Request
from teamvars.cli.client.wires import NoConnectionError
from teamvars.cli.exits import NO_CONNECTION
from teamvars.cli.failures import Failure
from teamvars.cli.output import note, print_json, say


@placed()
def version(where: Where, as_json: AsJson = False) -> None:
    """Show the versions of this command and of the service.

    They fit when the first number is the same, and, while that is 0, the second one as well.

    Example: teamvars version
    """
    place = located(where)
    served = None if place is None else _served(place, where)
    if as_json:
        print_json({"client": __version__, "server": served, "address": place and str(place)})
    else:
        say(f"client  {__version__}")
        say(f"server  {served or '-'}" + (f"  {place}" if place else ""))
    if served is not None and _line(served) != _line(__version__):
        note(f"These do not fit: install the release of {served} here, or ask who runs {place}.")


def _served(place: Address, where: Where) -> str:
    request = Request("GET", "/", {"Accept": "application/json"}, None)
    connection = Connection(place, travel_of(where))
    try:
        reply = connection.exchange(request, time.monotonic() + connection.seconds)
    except NoConnectionError as error:
        raise Failure(connection.unreachable(error), NO_CONNECTION) from None
    except NoAnswerError as error:
        raise Failure(f"No answer from {place}: {error}.", NO_CONNECTION) from None
    try:
        told: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, RecursionError):
        told = None
    if reply.status != 200 or not isinstance(told, dict) or told.get("name") != "teamvars":
        raise Failure(f"What answers at {place} is not teamvars. Check the address.")
    return str(told.get("version", "-"))


def _line(release: str) -> tuple[str, ...]:
    """The numbers that two releases have in common when they fit."""
    numbers = release.split(".")
    return tuple(numbers[: 2 if numbers[0] == "0" else 1])
