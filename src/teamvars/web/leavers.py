"""What somebody leaves behind in an organization, for its owners."""

import msgspec

from teamvars.domain.leavers import LeftBehind
from teamvars.services.leavers import Leavers
from teamvars.web.http.attributes import Attribute
from teamvars.web.http.operations import Operations
from teamvars.web.http.resources import Resource
from teamvars.web.http.routes import Route

_ONE = "/api/v2/organizations/{organization}/users/{user_id}/left-behind"


class LeftToken(msgspec.Struct):
    """A token of the organization, or of one of its teams, that they made."""

    id: str
    owner: str
    description: str


class LeftThing(msgspec.Struct):
    """A runner that they proposed, or a team in which nobody else is who can act."""

    id: str
    name: str


class LeftInvitation(msgspec.Struct):
    """An invitation that they sent, by its membership."""

    id: str
    email: str | None


def _path(one: LeftBehind) -> str:
    return f"/api/v2/organizations/{one.organization}/users/{one.user_id}/left-behind"


LEFT_BEHIND = Resource[LeftBehind](
    type="left-behind",
    name="LeftBehind",
    noun="what somebody leaves behind",
    tag="Memberships",
    id=lambda one: one.user_id,
    path=_path,
    attributes=(
        Attribute(
            "tokens",
            list[LeftToken],
            lambda one: [
                LeftToken(token.id, f"{token.owner_kind} {token.owner_id}", token.description)
                for token in one.tokens
            ],
        ),
        Attribute(
            "runners",
            list[LeftThing],
            lambda one: [LeftThing(runner.id, runner.spec.name) for runner in one.runners],
        ),
        Attribute(
            "invitations",
            list[LeftInvitation],
            lambda one: [LeftInvitation(sent.id, sent.shown_email) for sent in one.invitations],
        ),
        Attribute(
            "teams",
            list[LeftThing],
            lambda one: [LeftThing(team.id, team.name) for team in one.teams],
        ),
    ),
    texts={
        "LeftBehindAttributes": (
            "What goes on without somebody. `teams` are those in which nobody else is who can act."
        ),
        "LeftBehindResource": "What somebody leaves behind in an organization; its id is theirs.",
    },
)


def routes(leavers: Leavers) -> list[Route]:
    """One row an operation."""
    do = Operations(LEFT_BEHIND)
    return [
        do.reads(
            _ONE,
            "Read what somebody leaves behind: tokens, runners, invitations and teams.",
            leavers.read,
            may_forbid=True,
        ),
        do.deletes(
            _ONE,
            "Revoke these tokens, delete these runners and take these invitations back.",
            leavers.end,
        ),
    ]
