"""What becomes of what somebody leaves behind in an organization."""

from teamvars.decisions import Decision, Found, memberships, runners, tokens
from teamvars.decisions.needs import LeftBehindBy, MembershipOf, TeamsOf, ToOrganization
from teamvars.decisions.rows import together
from teamvars.domain.errors import not_found
from teamvars.domain.leavers import LeftBehind


def read(found: Found, organization: str, user_id: str) -> LeftBehind:
    """What somebody leaves behind, who may be gone. Refuses: forbidden, and as not found whoever is
    not in the organization and has left nothing there.
    """
    granted = found.of(ToOrganization(organization))
    granted.require_owner()
    left = found.of(LeftBehindBy(granted.organization.id, user_id))
    if left.is_nothing and found.of(MembershipOf(left.organization_id, user_id)) is None:
        raise not_found()
    return left


def end(found: Found, organization: str, user_id: str) -> Decision[LeftBehind]:
    """Ends all of it but the teams, which need somebody else; returns what it was. Refuses as
    `read`.
    """
    return _ended(found, read(found, organization, user_id))


def end_by_operator(found: Found, organization_id: str, user_id: str) -> Decision[LeftBehind]:
    """The same by an operator."""
    return _ended(found, found.of(LeftBehindBy(organization_id, user_id)))


def _ended(found: Found, left: LeftBehind) -> Decision[LeftBehind]:
    """Tokens are revoked, runners deleted and invitations taken back; nothing of it comes to be
    meanwhile.
    """
    of_teams = [team.id for team in found.of(TeamsOf(left.organization_id))]
    of_runners = [runner.id for runner in left.runners]
    found.require_locked([left.organization_id, *of_teams, *of_runners])
    return together(
        left,
        *(tokens.revoked(found, one) for one in left.tokens),
        *(runners.deleted(found, one) for one in left.runners),
        memberships.ended(found, left.invitations),
    )
