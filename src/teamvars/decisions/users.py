"""What becomes of a request to disable, enable or rename a user, and what a change records."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Note,
    Update,
    others,
    owners,
    sign_ins,
    together,
    tokens,
)
from teamvars.decisions.needs import (
    MembersOf,
    OwnedAlone,
    OwnerStreams,
    TokensIssued,
    Unclaimed,
    UserMeant,
)
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import NAME_TAKEN, Code, Fault, Refusal, forbidden, refuse_all
from teamvars.domain.names import USERNAME_RULE, is_username
from teamvars.domain.tokens import IssuedToken, stream_of
from teamvars.domain.users import User


class Disabling(msgspec.Struct, frozen=True):
    """How to disable a user.

    `force`: although an organization has no other active owner. `with_made_tokens`: revoke the
    tokens of teams and organizations that the user made.
    """

    force: bool = False
    with_made_tokens: bool = False


class Disabled(msgspec.Struct, frozen=True):
    """Who is disabled now, the tokens of others they made, and whether those were revoked."""

    user: User
    made: Sequence[IssuedToken]
    revoked: bool


def site_admin(found: Found, detail: str) -> User:
    """The user who calls. Refuses with that detail teams, organizations and users who are not site
    admins, and tokens that have rights in some organizations alone.
    """
    user = sign_ins.calling(found, detail)
    if not user.site_admin or found.caller.reach is not None:
        raise forbidden(detail)
    return user


def see_metrics(found: Found) -> None:
    """Refuses: forbidden to all but site admins."""
    site_admin(found, "Only site admins see the numbers of the whole service.")


def disable(found: Found, who: str, how: Disabling) -> Decision[Disabled]:
    """Refuses all tokens of a user, on every node, from the moment it is committed.

    Tokens and memberships stay, and give nothing until the user is enabled; sessions end. Refuses,
    unless forced, the last active owner of an organization.
    """
    user = found.of(UserMeant(who))
    made = found.of(TokensIssued("maker", user.id))
    recorded = {stream_of(issued.token) for issued in made if how.with_made_tokens}
    # Nobody may become an owner, or stop being one, between the look and the commit.
    found.require_locked({SYSTEM_STREAM, *found.of(OwnerStreams(user.id)), *recorded})
    after, parts = replace(user, disabled=True), []
    if not user.disabled:
        alone = found.of(OwnedAlone(user.id))
        refuse_all(() if how.force else [_last_owner(user, name) for name in alone])
        more = {"without-owner": list(alone)} if alone else {}
        parts.append(_switched(found, user, after, more))
    parts += sign_ins.ended(found, user)
    if how.with_made_tokens:
        parts += [tokens.revoked(found, issued.token) for issued in made]
    return together(Disabled(after, made, how.with_made_tokens), *parts)


def enable(found: Found, who: str) -> Decision[User]:
    """Lets a user be what they were before they were disabled; of an owner the others are told."""
    user = found.of(UserMeant(who))
    after = replace(user, disabled=False)
    if not user.disabled:
        return Decision(after)
    places = sorted(found.of(OwnerStreams(user.id)))  # of which those of teams have members
    found.require_locked({SYSTEM_STREAM, *places})
    told = [
        owners.joined(found, [replace(one, user=after)])
        for id_ in places
        for one in found.of(MembersOf(id_))
        if one.user.id == user.id
    ]
    return together(after, *told, _switched(found, user, after))


def rename(found: Found, who: str, username: str) -> Decision[User]:
    """Gives a user another name. Refuses: a name that cannot be, or that another user has."""
    if not is_username(username):
        raise Refusal(Fault(Code.INVALID_VALUE, f"A user name has {USERNAME_RULE}."))
    user = found.of(UserMeant(who))
    renamed = replace(user, username=username)
    return together(renamed, *([] if renamed == user else [changed(found, user, renamed)]))


def remove_unclaimed(found: Found, before: int) -> Decision[None]:
    """Removes some of the users whom invitations made before then, whom nobody was ever known as
    and nobody invites any more.
    """
    found.require_locked([SYSTEM_STREAM])
    return together(None, *(_deleted(found, id_) for id_ in found.of(Unclaimed(before))))


def created(found: Found, user: User) -> Decision[None]:
    """A user is made.

    Of a placeholder the entry says no more than that there is one: its address, and the name that
    is made of it, are told where it was invited.
    """
    note = _noted(found, "create", user, _told(user))
    return Decision(None, (Insert(user),), (note,), taken=_TAKEN)


def changed(found: Found, before: User, user: User) -> Decision[None]:
    """A user becomes another; so a placeholder becomes somebody."""
    verb = "claim" if before.placeholder and not user.placeholder else "update"
    is_renamed = before.username != user.username and not user.placeholder
    former = {"from": before.username} if is_renamed else {}
    details = {**others(_details(before), _details(user)), **_told(user), **former}
    return Decision(
        None, (Update(before, user),), (_noted(found, verb, user, details),), taken=_TAKEN
    )


def _deleted(found: Found, user_id: str) -> Decision[None]:
    note = found.note(SYSTEM_STREAM, "user.delete", user_id, {})
    return Decision(None, (Delete(User, (user_id,)),), (note,))


def _switched(
    found: Found, before: User, after: User, more: Mapping[str, object] = {}
) -> Decision[None]:
    verb = "disable" if after.disabled else "enable"
    note = _noted(found, verb, after, {"username": _told(after)["username"], **more})
    return Decision(None, (Update(before, after),), (note,))


def _noted(found: Found, verb: str, user: User, details: Mapping[str, object]) -> Note:
    return found.note(SYSTEM_STREAM, f"user.{verb}", user.id, details)


_TAKEN = NAME_TAKEN.filled(what="a user").at(None)


def _told(user: User) -> dict[str, object]:
    nothing = {"username": None, "email": None} if user.placeholder else {}
    return {**_details(user), **nothing}


def _details(user: User) -> dict[str, object]:
    return {"username": user.username, "email": user.email, "site-admin": user.site_admin}


def _last_owner(user: User, organization: str) -> Fault:
    detail = (
        f"{user.username} is the last active owner of {organization}. Name another, or say --force."
    )
    return Fault(Code.LAST_OWNER, detail)
