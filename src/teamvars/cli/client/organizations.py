"""`organization update`."""

from teamvars.cli import asking
from teamvars.cli.client.api import Api, at, told
from teamvars.cli.client.options import connected, yes_option
from teamvars.cli.options import OneOf, command, json_option, option
from teamvars.cli.output import note, show

_REQUIRED = "sso-required"
_SHOWN = {"name": "name", "id": "external-id", _REQUIRED: _REQUIRED}
_ASKS = (
    "From now on tokens of users have no rights in {} unless somebody made them while signed in. "
    "Go on?"
)


@command
@option(
    f"--{_REQUIRED}",
    "Whether members have rights only where they have signed in: yes or no.",
    "required",
    type=OneOf(["yes", "no"]),
    required=True,
)
@yes_option
@json_option
@connected("organization")
def update(api: Api, required: str, yes: bool) -> None:
    """Say whether the members of an organization have to sign in, as an owner who has.

    Tokens of runners, teams and the organization go on.

    Example: teamvars organization update --sso-required no
    """
    organization, is_so = api.organization, required == "yes"
    api.announce(f"Organization {organization}")
    if is_so:
        asking.confirm(_ASKS.format(organization), yes=yes)
    attributes = {_REQUIRED: is_so}
    document = {"data": {"type": "organizations", "id": organization, "attributes": attributes}}
    shown = told(api.patch(at("organizations", organization), document).document["data"], _SHOWN)
    show(shown, ())
    note("Members have to sign in." if is_so else "Members need not sign in.")
