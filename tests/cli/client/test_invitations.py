"""Who is invited and has a token accepts by command."""

from tests.cli.client.conftest import Service
from tests.support.desk import Desk


def test_somebody_who_is_known_here_accepts_an_invitation(
    stranger: Desk, service: Service, office: str
) -> None:
    stranger.succeed("login", "--address", service.url, given=service.tokens["carol"])
    waiting = stranger.succeed("login", "accept", "--json").json
    assert office in {one["organization"] for one in waiting}
    assert office in stranger.succeed("login", "accept").out

    accepted = stranger.succeed("login", "accept", office.upper())
    assert f"Your membership of {office} on {service.url}" in accepted.err
    assert f"You are a member of {office}." in accepted.err
    (event,) = service.events(office, "membership.update")
    assert event["names"]["actor"] == "carol"
    again = stranger.run("login", "accept", office)
    assert (again.code, again.out) == (5, "")
    assert f"You have no open invitation from {office}." in again.err


def test_nobody_is_told_of_invitations_of_others(desk: Desk, office: str) -> None:
    listed = desk.succeed("login", "accept")
    assert (listed.out, "You have no open invitation." in listed.err) == ("", True)
    assert desk.run("login", "accept", office).code == 5
