"""`user list`, `show`, `disable`, `enable`, `rename`."""

from typing import Annotated

import typer

from teamvars.cli.operator.context import run
from teamvars.cli.operator.token_rows import as_json as rows_of
from teamvars.cli.operator.token_rows import say_tokens
from teamvars.cli.output import note, print_json, say, say_rows
from teamvars.domain.memberships import Membership
from teamvars.domain.users import User
from teamvars.services.accounts import Account, Disabled, Disabling

Who = Annotated[str, typer.Argument(metavar="USER", help="A name, e-mail address or id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List all users."""
    users = run(context, lambda services, _: services.accounts.list())
    if as_json:
        print_json([_fields(user) for user in users])
    else:
        say_rows([(user.username, user.email or "-", user.id, _marks(user)) for user in users])


def show(context: typer.Context, who: Who, as_json: AsJson = False) -> None:
    """Show a user's memberships and tokens, and the tokens of others that they made."""
    account = run(context, lambda services, _: services.accounts.show(who))
    if as_json:
        print_json(_whole(account))
        return
    user = account.user
    say(f"{user.username}  {user.email or '-'}  {user.id}  {_marks(user)}".rstrip())
    for view in account.memberships:
        teams = ", ".join(_teams(account, view)) or "no team"
        say(f"member of {view.organization_name}: {view.status.value}, in {teams}")
    say_tokens(account.tokens)
    if account.made:
        say(f"Tokens that {user.username} made for others:")
        say_tokens(account.made)


def disable(
    context: typer.Context,
    who: Who,
    force: Annotated[
        bool, typer.Option("--force", help="Although an organization has no other active owner.")
    ] = False,
    with_made_tokens: Annotated[
        bool,
        typer.Option(
            "--with-made-tokens",
            help="Revoke the tokens of teams and organizations that they made.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Refuse all of a user's tokens from now on; memberships stay, and give nothing."""
    how = Disabling(force=force, with_made_tokens=with_made_tokens)
    done = run(context, lambda services, caller: services.accounts.disable(caller, who, how))
    if as_json:
        made = {"made-tokens": rows_of(done.made), "made-tokens-revoked": done.revoked}
        print_json({**_fields(done.user), **made})
    else:
        say_tokens(done.made)
        _note_disabled(done)


def enable(context: typer.Context, who: Who, as_json: AsJson = False) -> None:
    """Let a user's tokens and memberships count again."""
    user = run(context, lambda services, caller: services.accounts.enable(caller, who))
    if as_json:
        print_json(_fields(user))
    else:
        note(f"User {user.username} ({user.id}) is enabled.")


def rename(
    context: typer.Context,
    who: Who,
    username: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a user another name; whoever writes a directory file must write it from now on."""
    user = run(context, lambda services, caller: services.accounts.rename(caller, who, username))
    if as_json:
        print_json(_fields(user))
    else:
        note(f"User {user.id} is {user.username}.")


def _note_disabled(done: Disabled) -> None:
    name = done.user.username
    note(f"User {name} ({done.user.id}) is disabled: their tokens are refused from now on.")
    if done.made and done.revoked:
        note(f"The tokens above, which {name} made for others, are revoked.")
    elif done.made:
        note(f"The tokens above, which {name} made for others, still work. To revoke them, say")
        note(f"  teamvars user disable {name} --with-made-tokens")


def _marks(user: User) -> str:
    marks = {
        "disabled": user.disabled,
        "site-admin": user.site_admin,
        "invited only": user.placeholder,
    }
    return ", ".join(mark for mark, holds in marks.items() if holds)


def _fields(user: User) -> dict[str, object]:
    return {
        "id": user.id,
        "username": user.username,
        "email": user.email,
        "site-admin": user.site_admin,
        "disabled": user.disabled,
        "invited-only": user.placeholder,
    }


def _whole(account: Account) -> dict[str, object]:
    memberships = [
        {
            "id": view.id,
            "organization": view.organization_name,
            "status": view.status.value,
            "teams": _teams(account, view),
        }
        for view in account.memberships
    ]
    return {
        **_fields(account.user),
        "memberships": memberships,
        "tokens": rows_of(account.tokens),
        "made-tokens": rows_of(account.made),
    }


def _teams(account: Account, view: Membership) -> list[str]:
    return sorted(account.teams[id_] for id_ in view.team_ids)
