"""Which release a service is, and whether this command fits it."""

from teamvars import __version__
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.sending import answer_once, object_of
from teamvars.cli.client.api.transport import Connection, Request, Travel
from teamvars.cli.exits import Failure


def release_of(service: Address, travel: Travel) -> str:
    """The release of a service. Fails where it cannot be reached, or is something else."""
    request = Request("GET", "/", {"Accept": "application/json"}, None)
    connection = Connection(service, travel)
    try:
        reply = answer_once(connection, request)
    finally:
        connection.close()
    said = object_of(reply) or {}
    if reply.status != 200 or said.get("name") != "teamvars":
        raise Failure(f"What answers at {service} is not teamvars. Check the address.")
    return str(said.get("version", "-"))


def misfit(service: Address, release: str) -> str | None:
    """What to say of a service of that release; None where this command fits it."""
    if _line(release) == _line(__version__):
        return None
    return (
        f"These versions do not fit: {service} is release {release}, and this command "
        f"{__version__}. Install release {release} here, or ask the operator of the service."
    )


def _line(release: str) -> list[str]:
    """The numbers that two releases have in common when they fit."""
    numbers = release.split(".")
    return numbers[: 2 if numbers[0] == "0" else 1]
