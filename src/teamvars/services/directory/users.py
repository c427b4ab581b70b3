"""Changes to users; each is recorded in the system's stream."""

from collections.abc import Sequence

from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.users import User
from teamvars.services.directory.ledger import Ledger, others
from teamvars.storage import users


async def create(ledger: Ledger, made: Sequence[User]) -> None:
    """Adds users. Raises Taken when a name or e-mail address is another's.

    Of a placeholder entries say no more than that there is one: its address, and the name that is
    made of it, are told where it was invited.
    """
    await users.insert_all(ledger.tx, made, ledger.now)
    for user in made:
        await ledger.record(SYSTEM_STREAM, "user.create", user.id, _told(user))


async def update(ledger: Ledger, changed: Sequence[tuple[User, User]]) -> None:
    """Changes users, each from what it was, in order; a placeholder becomes somebody by that.

    Raises Taken when a name or e-mail address is another's by then.
    """
    await users.update_all(ledger.tx, [user for _, user in changed])
    for before, user in changed:
        verb = "claim" if before.placeholder and not user.placeholder else "update"
        is_renamed = before.username != user.username and not user.placeholder
        former = {"from": before.username} if is_renamed else {}
        details = {**others(_details(before), _details(user)), **_told(user), **former}
        await ledger.record(SYSTEM_STREAM, f"user.{verb}", user.id, details)


async def delete(ledger: Ledger, user_ids: Sequence[str]) -> None:
    """Removes users whom nobody was ever known as; the system must be locked."""
    await users.delete_all(ledger.tx, user_ids)
    for user_id in user_ids:
        await ledger.record(SYSTEM_STREAM, "user.delete", user_id, {})


async def set_disabled(
    ledger: Ledger, user: User, disabled: bool, without_owner: Sequence[str] = ()
) -> None:
    """Disables a user, or the reverse; `without_owner` names whom that leaves without an owner."""
    await users.set_disabled(ledger.tx, user.id, disabled=disabled)
    details: dict[str, object] = {"username": _told(user)["username"]}
    if without_owner:
        details["without-owner"] = list(without_owner)
    verb = "disable" if disabled else "enable"
    await ledger.record(SYSTEM_STREAM, f"user.{verb}", user.id, details)


def _told(user: User) -> dict[str, object]:
    nothing = {"username": None, "email": None} if user.placeholder else {}
    return {**_details(user), **nothing}


def _details(user: User) -> dict[str, object]:
    return {"username": user.username, "email": user.email, "site-admin": user.site_admin}
