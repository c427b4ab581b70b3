"""`invite create`, `list`, `resend`, `revoke`."""

from typing import Annotated

import typer

from teamvars.cli.operator.context import run
from teamvars.cli.operator.token_rows import told
from teamvars.cli.output import note, print_json, say, say_rows
from teamvars.domain.memberships import Membership
from teamvars.services.operator_invitations import Asked, Issued

Which = Annotated[str, typer.Argument(metavar="ID", help="The id of the membership, ou-….")]
ShowLink = Annotated[
    bool, typer.Option("--show-link", help="Print the link, and send no message with it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def create(
    context: typer.Context,
    email: Annotated[str, typer.Argument(metavar="ADDRESS", help="Whom to invite.")],
    organization: Annotated[str, typer.Option(help="The organization's name.")],
    team: Annotated[
        list[str] | None, typer.Option(help="A team to put them into; can be repeated.")
    ] = None,
    show_link: ShowLink = False,
    as_json: AsJson = False,
) -> None:
    """Invite somebody by e-mail address; without mail the link is printed."""
    asked = Asked(email, organization, tuple(team or ()))
    tell_issued(
        run(
            context,
            lambda services, caller: services.operator_invitations.create(
                caller, asked, show=show_link
            ),
        ),
        as_json=as_json,
    )


def list_(
    context: typer.Context,
    organization: Annotated[str | None, typer.Option(help="Of this one alone.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the invitations that were not accepted yet."""
    pending = run(context, lambda services, _: services.operator_invitations.pending(organization))
    if as_json:
        print_json([_fields(one) for one in pending])
    else:
        say_rows([_cells(one) for one in pending])


def resend(
    context: typer.Context,
    membership_id: Which,
    show_link: ShowLink = False,
    as_json: AsJson = False,
) -> None:
    """Make a new link; the former one is void. It is sent, or printed."""
    tell_issued(
        run(
            context,
            lambda services, caller: services.operator_invitations.resend(
                caller, membership_id, show=show_link
            ),
        ),
        as_json=as_json,
    )


def revoke(context: typer.Context, membership_id: Which, as_json: AsJson = False) -> None:
    """Take an invitation back; its link opens nothing any more."""
    revoked = run(
        context,
        lambda services, caller: services.operator_invitations.revoke(caller, membership_id),
    )
    if as_json:
        print_json(_fields(revoked))
    else:
        note(f"The invitation of {revoked.shown_email or '-'} ({revoked.id}) is taken back.")


def tell_issued(issued: Issued, *, as_json: bool = False) -> None:
    """Prints the link of an invitation that was just made, or says that a message carries it."""
    membership = issued.membership
    who = f"{membership.shown_email or '-'} to {membership.organization_name} ({membership.id})"
    if as_json:
        print_json(issued_fields(issued))
    elif issued.link is None:
        note(f"Invited {who}: a message with the link is on its way.")
    else:
        say(issued.link)
        note(f"Invited {who}. The link is good for one use in 7 days, and shown only this once.")


def issued_fields(issued: Issued) -> dict[str, object]:
    """An invitation that was just made, for JSON."""
    return {**_names(issued.membership), "link": issued.link}


def _names(one: Membership) -> dict[str, object]:
    return {"id": one.id, "organization": one.organization_name, "email": one.shown_email}


def _fields(one: Membership) -> dict[str, object]:
    invitation = one.invitation
    return {
        **_names(one),
        "delivery": None if invitation is None else invitation.delivery.value,
        "expires-at": None if invitation is None else told(invitation.expires_at),
    }


def _cells(one: Membership) -> tuple[str, ...]:
    invitation = one.invitation
    said = (
        ("no link", "")
        if invitation is None
        else (
            invitation.delivery.value,
            f"until {told(invitation.expires_at)}",
        )
    )
    return one.id, one.organization_name, one.shown_email or "-", *said
