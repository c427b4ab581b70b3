"""What a directory file makes of the existing users."""

from collections.abc import Iterable

from msgspec.structs import replace

from teamvars.decisions import users
from teamvars.domain.directory import UserEntry
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.users import User, other_username_for
from teamvars.services.directory_files.changeset import Changeset, Step


class People:
    """Users by id, by name and by address, as the entries read so far have made them."""

    def __init__(self, present: Iterable[User], changeset: Changeset) -> None:
        self._changeset = changeset
        self._by_id: dict[str, User] = {}
        self._by_name: dict[str, User] = {}
        self._by_email: dict[str, User] = {}
        for user in present:
            self._hold(user)

    def named(self, username: str) -> User | None:
        """The user with that name."""
        return self._by_name.get(fold(username))

    def latest(self, user: User) -> User:
        """The user as the entries have made them."""
        return self._by_id.get(user.id, user)

    def disabled(self) -> tuple[str, ...]:
        """The disabled users among those the file names, by name."""
        return tuple(sorted(user.username for user in self._by_id.values() if user.disabled))

    def apply(self, entry: UserEntry) -> None:
        """Makes a user what the file says.

        A placeholder in the way, who has the name or the address because somebody once invited it,
        becomes that user and keeps id and invitations. Where one has the name and another the
        address, the one with the address does, and the other makes way.
        """
        named = self.named(entry.username)
        holder = self._by_email.get(fold(entry.email)) if entry.email else None
        if holder is None or (named is not None and holder.id == named.id):
            self._make(entry, named)
        elif not holder.placeholder:
            detail = (
                f"The e-mail address of user {entry.username} is taken: it is that of user "
                f"{holder.username}, who is already known here."
            )
            self._changeset.refuse(detail, entry.at)
        elif named is None:
            self._make(entry, holder)
        elif named.placeholder:
            name = other_username_for(named.email or named.username)
            self._change(named, replace(named, username=name))
            self._make(entry, holder)
        else:
            self._change(holder, replace(holder, email=None))
            self._make(entry, named)

    def know(self, user: User) -> None:
        """The file makes the user an active member, and so no longer a placeholder."""
        if user.placeholder:
            self._change(user, replace(user, placeholder=False))

    def _make(self, entry: UserEntry, before: User | None) -> None:
        """Creates the user, or updates `before` to what the entry says."""
        base = before or User(new_id("user"), entry.username, None, site_admin=False)
        user = replace(
            base,
            username=entry.username if base.placeholder else base.username,
            email=base.email if entry.email is None else entry.email,
            site_admin=base.site_admin if entry.site_admin is None else entry.site_admin,
            placeholder=False,
        )
        if before is None:
            self._hold(user)
            told = f"create user {user.username}"
            self._changeset.add(Step.CREATE_USER, [told], users.created, user)
        elif user != before:
            self._change(before, user)

    def _change(self, before: User, user: User) -> None:
        if before.placeholder and not user.placeholder:
            told = f"take over invited user {before.username} as {user.username}"
        elif before.username != user.username:
            told = f"rename invited user {before.username} to {user.username}"
        elif user.placeholder:
            told = f"take the e-mail address from invited user {user.username}"
        else:
            told = f"update user {user.username}"
        self._changeset.add(Step.CHANGE_USER, [told], users.changed, before, user)
        self._changeset.changed_users.setdefault(before.id, before)
        del self._by_name[fold(before.username)]
        if before.email is not None:
            del self._by_email[fold(before.email)]
        self._hold(user)

    def _hold(self, user: User) -> None:
        self._by_id[user.id] = self._by_name[fold(user.username)] = user
        if user.email is not None:
            self._by_email[fold(user.email)] = user
