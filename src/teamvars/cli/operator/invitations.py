"""`invite create`, `list`, `resend`, `revoke`."""

from collections.abc import Sequence

from teamvars.cli.operator.context import run
from teamvars.cli.operator.tokens import told
from teamvars.cli.options import argument, command, flag, json_option, option
from teamvars.cli.output import Fields, Row, show, telling
from teamvars.decisions.invitations import Asked
from teamvars.domain.memberships import Membership
from teamvars.services.invitations import Issued

id_argument = argument("membership_id", "The id of the membership, ou-….", metavar="ID")
show_link_option = flag("--show-link", "Print the link instead of sending it.")


@command
@argument("email", "Whom to invite.", metavar="ADDRESS")
@option("--organization", "The organization's name.", required=True)
@option("--team", "A team to put them into.", multiple=True)
@show_link_option
@json_option
def create(email: str, organization: str, team: Sequence[str], show_link: bool) -> None:
    """Invite somebody by e-mail address; without mail the link is printed."""
    asked = Asked(email, organization, team)
    made = run(
        lambda services, caller: services.operator_invitations.create(caller, asked, show=show_link)
    )
    _show(made)


@command
@option("--organization", "Only of this organization.")
@json_option
def list_(organization: str | None) -> None:
    """List the invitations that nobody has accepted yet."""
    pending = run(lambda services, _: services.operator_invitations.pending(organization))
    show([*map(_fields, pending)], map(_cells, pending), empty="Nobody is invited.")


@command
@id_argument
@show_link_option
@json_option
def resend(membership_id: str, show_link: bool) -> None:
    """Make a new link and void the old one. It is sent, or printed."""
    resent = run(
        lambda services, caller: services.operator_invitations.resend(
            caller, membership_id, show=show_link
        )
    )
    _show(resent)


@command
@id_argument
@json_option
def revoke(membership_id: str) -> None:
    """Revoke an invitation; its link stops working."""
    revoked = run(
        lambda services, caller: services.operator_invitations.revoke(caller, membership_id),
    )
    said = f"The invitation of {revoked.shown_email or '-'} ({revoked.id}) is revoked."
    show(_fields(revoked), (), said=said)


def _show(issued: Issued) -> None:
    with telling(told_lost(issued)):
        show(issued_fields(issued), links_of(issued), said=told_issued(issued))


def links_of(issued: Issued) -> list[tuple[str]]:
    """A row with the link of an invitation that was just made; none where a message carries it."""
    return [] if issued.link is None else [(issued.link,)]


def told_issued(issued: Issued) -> str:
    """What is said of such an invitation."""
    membership = issued.membership
    who = f"{membership.shown_email or '-'} to {membership.organization_name} ({membership.id})"
    if issued.link is None:
        return f"Invited {who}: a message with the link is on its way."
    return f"Invited {who}. The link is good for one use in 7 days, and shown only this once."


def told_lost(issued: Issued) -> str:
    """What is said of such an invitation where it cannot be shown."""
    id_ = issued.membership.id
    return f"Invitation {id_} was made. For another link: teamvars invite resend {id_}"


def issued_fields(issued: Issued) -> Fields:
    """An invitation that was just made, for JSON."""
    return {**_names(issued.membership), "link": issued.link}


def _names(one: Membership) -> Fields:
    return {"id": one.id, "organization": one.organization_name, "email": one.shown_email}


def _fields(one: Membership) -> Fields:
    invitation = one.invitation
    return {
        **_names(one),
        "delivery": None if invitation is None else invitation.delivery.value,
        "expires-at": None if invitation is None else told(invitation.expires_at),
    }


def _cells(one: Membership) -> Row:
    who = one.id, one.organization_name, one.shown_email or "-"
    if one.invitation is None:
        return *who, "no link", ""
    return *who, one.invitation.delivery.value, f"until {told(one.invitation.expires_at)}"
