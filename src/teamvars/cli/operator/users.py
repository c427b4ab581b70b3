"""`user list`, `show`, `disable`, `enable`, `rename`, `left-behind`, `link`, and `access`."""

from collections.abc import Iterator, Sequence

from teamvars.cli import output
from teamvars.cli.exits import Failure
from teamvars.cli.operator.context import run, run_dated
from teamvars.cli.operator.host import both_names, load_settings
from teamvars.cli.operator.tokens import cells_of, fields_of
from teamvars.cli.options import argument, command, flag, json_option, option
from teamvars.decisions.users import Disabled, Disabling
from teamvars.domain.access import Standing
from teamvars.domain.memberships import LeftBehind, Membership
from teamvars.domain.users import User
from teamvars.services.users import Account

user_argument = argument("who", "A name, e-mail address or id.", metavar="USER")


@command
@json_option
def list_() -> None:
    """List all users."""
    users = run(lambda services, _: services.accounts.list())
    output.show([*map(_fields, users)], map(_cells, users))


@command
@user_argument
@json_option
def show(who: str) -> None:
    """Show a user's memberships and tokens, and the tokens of others that they made."""
    account, now = run_dated(lambda services, _: services.accounts.show(who))
    memberships = [
        {
            "id": view.id,
            "organization": view.organization_name,
            "status": view.status.value,
            "teams": _teams(account, view),
        }
        for view in account.memberships
    ]
    shown = {
        **_fields(account.user),
        "memberships": memberships,
        "identities": [
            {"issuer": one.issuer, "subject": one.subject} for one in account.identities
        ],
        "tokens": fields_of(account.tokens, now),
        "made-tokens": fields_of(account.made, now),
    }
    output.show(shown, ((line,) for line in _lines(account, now)))


@command
@user_argument
@flag("--force", "Even if an organization has no other active owner.")
@flag("--with-made-tokens", "Revoke the tokens of teams and organizations that they made.")
@json_option
def disable(who: str, force: bool, with_made_tokens: bool) -> None:
    """Refuse all of a user's tokens from now on; memberships stay, but give no rights."""
    how = Disabling(force=force, with_made_tokens=with_made_tokens)
    done, now = run_dated(lambda services, caller: services.accounts.disable(caller, who, how))
    made = {"made-tokens": fields_of(done.made, now), "made-tokens-revoked": done.revoked}
    shown = {**_fields(done.user), **made}
    output.show(shown, cells_of(done.made, now), said=_told_disabled(done))


@command
@user_argument
@json_option
def enable(who: str) -> None:
    """Accept a user's tokens and memberships again."""
    user = run(lambda services, caller: services.accounts.enable(caller, who))
    output.show(_fields(user), (), said=f"User {user.username} ({user.id}) is enabled.")


@command
@user_argument
@argument("username", "The new name.", metavar="NAME")
@json_option
def rename(who: str, username: str) -> None:
    """Give a user another name; change it in your directory file too."""
    user = run(lambda services, caller: services.accounts.rename(caller, who, username))
    output.show(_fields(user), (), said=f"User {user.id} is {user.username}.")


@command
@user_argument
@flag("--end", "Revoke these tokens, delete these runners and take these invitations back.")
@json_option
def left_behind(who: str, end: bool) -> None:
    """Show what a user leaves behind, or end it.

    That is tokens of others that they made, runners that they proposed, invitations that they sent,
    and teams in which nobody else can act. Teams stay: add somebody to them.
    """
    if not end:
        _show_left(run(lambda services, _: services.operator_leavers.show(who)))
        return
    ended: list[LeftBehind] = []
    try:
        run(lambda services, caller: services.operator_leavers.end(caller, who, ended.append))
    except Failure:
        if ended:
            _show_left(ended, has_ended=True)
        raise
    _show_left(ended, has_ended=True)


def _show_left(found: Sequence[LeftBehind], *, has_ended: bool = False) -> None:
    rows = [row for one in found for row in _left(one)]
    said = "This has ended, but for the teams." if has_ended else None
    output.show([*map(_left_fields, found)], rows, said=said, empty="There is nothing.")


@command
@user_argument
@option("--issuer", "The provider's issuer, as it stands in teamvars.toml.", required=True)
@option("--subject", "What the provider calls them: `sub`, and with Entra `oid`.", required=True)
@flag("--remove", "Take the link back, and end all that the user has signed in for.")
@json_option
def link(who: str, issuer: str, subject: str, remove: bool) -> None:
    """Say who signs in as a user: an account at a provider."""
    asked = who, issuer, subject
    if remove:
        user = run(lambda services, caller: services.accounts.unlink(caller, *asked))
        said = (
            f"This account signs in as {user.username} no more. Their sessions have ended, with "
            "all tokens that were made in them."
        )
    else:
        user = run(lambda services, caller: services.accounts.link(caller, *asked))
        said = f"This account signs in as {user.username} ({user.id})."
        if issuer not in {one.issuer for one in load_settings().providers.values()}:
            output.note(f"No provider here has the issuer {issuer}: nobody signs in by it yet.")
    output.show(_fields(user), (), said=said)


def _left(one: LeftBehind) -> Iterator[output.Row]:
    """A row for each thing."""
    for token in one.tokens:
        yield one.organization, f"token of the {token.owner_kind}", token.id, token.description
    for runner in one.runners:
        yield one.organization, "runner", runner.id, runner.spec.name
    for sent in one.invitations:
        yield one.organization, "invitation", sent.id, sent.shown_email or "-"
    for team in one.teams:
        yield one.organization, "team", team.id, team.name


def _left_fields(one: LeftBehind) -> output.Fields:
    return {
        "organization": one.organization,
        "tokens": [{"id": token.id, "description": token.description} for token in one.tokens],
        "runners": [{"id": runner.id, "name": runner.spec.name} for runner in one.runners],
        "invitations": [{"id": sent.id, "email": sent.shown_email} for sent in one.invitations],
        "teams": [{"id": team.id, "name": team.name} for team in one.teams],
    }


def _told_disabled(done: Disabled) -> str:
    name = done.user.username
    told = f"User {name} ({done.user.id}) is disabled: their tokens are refused from now on."
    if not done.made:
        return told
    made = f"{told}\nThe tokens above, which {name} made for others,"
    if done.revoked:
        return f"{made} are revoked."
    return (
        f"{made} still work. To revoke them, say\n  teamvars user disable {name} --with-made-tokens"
    )


def _cells(user: User) -> output.Row:
    marks = {
        "disabled": user.disabled,
        "site-admin": user.site_admin,
        "invited only": user.placeholder,
    }
    told = ", ".join(mark for mark, holds in marks.items() if holds)
    return user.username, user.email or "-", user.id, told


def _lines(account: Account, now: int) -> Iterator[str]:
    yield from output.aligned([_cells(account.user)])
    for view in account.memberships:
        teams = ", ".join(_teams(account, view)) or "no team"
        yield f"member of {view.organization_name}: {view.status.value}, in {teams}"
    for one in account.identities:
        yield f"signs in as {one.subject} of {one.issuer}"
    yield from output.aligned([*cells_of(account.tokens, now)])
    if account.made:
        yield f"Tokens that {account.user.username} made for others:"
        yield from output.aligned([*cells_of(account.made, now)])


def _fields(user: User) -> output.Fields:
    return {
        "id": user.id,
        "username": user.username,
        "email": user.email,
        "site-admin": user.site_admin,
        "disabled": user.disabled,
        "invited-only": user.placeholder,
    }


def _teams(account: Account, view: Membership) -> list[str]:
    return sorted(account.teams[id_] for id_ in view.team_ids)


@command
@argument("place", "The workspace.", metavar="ORG/WORKSPACE")
@json_option
def access(place: str) -> None:
    """Show who may read and write the variables of a workspace, and through which team.

    A line for each way: a member of two teams with grants has two, and the higher one counts.
    """
    organization, name = both_names(place, "Give the workspace as ORG/WORKSPACE.")
    found = run(lambda services, _: services.accounts.holders(organization, name))
    shown = {
        "workspace": f"{found.organization}/{found.workspace}",
        "id": found.workspace_id,
        "holders": (
            {
                "type": holder.kind,
                "id": holder.id,
                "name": holder.name,
                "access": holder.level.word,
                "through": holder.through,
                "standing": holder.standing.value,
            }
            for holder in found.holders
        ),
    }
    rows = (
        (
            f"{holder.kind.replace('-', ' ')} {holder.name}",
            holder.level.word,
            f"through {holder.through}",
            "" if holder.standing is Standing.ACTIVE else holder.standing.value,
        )
        for holder in found.holders
    )
    all_active = all(holder.standing is Standing.ACTIVE for holder in found.holders)
    said = "Invited people have no rights before they accept; disabled users have none."
    output.show(shown, rows, said=None if all_active else said)
