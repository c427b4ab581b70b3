"""What becomes of a request to add, activate or retire a key.

The store is told first and the file of the keyring changed after it: a key that nobody knows of is
worse than an entry of a key that never came. Whoever was stopped in between activates or retires it
again; a key that was to be added, and is in no keyring, is retired as others are.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Need, Update
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.keys import AUDIT, SERVER, KeyRefused, Node, NotedKey, noted_key


class NotedKeys(Need[Mapping[str, NotedKey]], frozen=True):
    """The keys that the store knows, by id."""


class LiveNodes(Need[tuple[Node, ...]], frozen=True):
    """The nodes that serve, by name."""


_WHAT_TO_DO = (
    "Copy the keyring to its host, or stop it. One that was killed counts for two minutes more."
)
Proof = tuple[str, bytes]
"""The id of a key, and its check value."""


def add(found: Found, purpose: str, added: Proof, active: Proof | None) -> Decision[None]:
    """A key that no keyring has yet, beside the active one of its purpose."""
    found.require_locked([SYSTEM_STREAM])
    note = found.note(SYSTEM_STREAM, "key.add", added[0], {"purpose": purpose})
    return Decision(None, noting(found, purpose, added, active), (note,))


def rotate(found: Found, thumbprint: str, added: Proof, active: Proof | None) -> Decision[None]:
    """A server key that no keyring has yet, and that is to take the place of the active one, if
    there is one.
    """
    found.require_locked([SYSTEM_STREAM])
    former = {} if active is None else {"former": active[0]}
    details = {"thumbprint": thumbprint, **former}
    note = found.note(SYSTEM_STREAM, "server-key.rotate", added[0], details)
    return Decision(None, noting(found, SERVER, added, active), (note,))


def noting(found: Found, purpose: str, added: Proof, active: Proof | None) -> tuple[Insert, ...]:
    """The rows of a key, and of the active one if the store knows none of that purpose, as one that
    an older release has made.
    """
    knows_any = any(key.purpose == purpose for key in found.of(NotedKeys()).values())
    row = Insert(noted_key(added[0], purpose, added[1], found.now))
    if knows_any or active is None:
        return (row,)
    return Insert(noted_key(active[0], purpose, active[1], found.now, found.now)), row


def activate(found: Found, purpose: str, key_id: str, former: str) -> Decision[None]:
    """The key is about to take the place of the former one. Refuses while a node lacks it, and one
    that was retired meanwhile.
    """
    found.require_locked([SYSTEM_STREAM])
    lacking = [node for node in found.of(LiveNodes()) if key_id not in node.held]
    if lacking:
        raise KeyRefused(f"{key_id} is not activated: {_named(lacking)} without it. {_WHAT_TO_DO}")
    note = found.note(SYSTEM_STREAM, "key.activate", key_id, {"purpose": purpose, "former": former})
    known = found.of(NotedKeys())
    noted = known.get(key_id)
    if noted is None or noted.retired_at is not None:
        raise KeyRefused(f"{key_id} was retired. Add another: teamvars keys add {purpose}")
    # After all others, also where the clock was set back since.
    last = max(key.activated_at or 0 for key in known.values() if key.purpose == purpose)
    after = replace(noted, activated_at=max(found.now, last + 1))
    return Decision(None, (Update(noted, after),), (note,))


def require_newest(known: Mapping[str, NotedKey], purpose: str, key_id: str) -> None:
    """Refuses a key after which another of its purpose was activated, and that may be retired."""
    newest = max(
        (key for key in known.values() if key.purpose == purpose),
        key=lambda key: key.activated_at or 0,
    )
    if newest.id != key_id:
        raise KeyRefused(f"{key_id} is not in use: {newest.id} was activated after it.")


def retire(found: Found, purpose: str, key_id: str, *, leaked: bool) -> Decision[None]:
    """The key is used no more. An audit key goes on to verify what was signed with it before.
    Refuses while a node uses it, and the one that was activated last.
    """
    found.require_locked([SYSTEM_STREAM])
    require_unused(found.of(LiveNodes()), key_id)
    details = {"purpose": purpose, **({"leaked": True} if leaked else {})}
    note = found.note(SYSTEM_STREAM, "key.retire", key_id, details)
    known = found.of(NotedKeys())
    noted = known.get(key_id)
    if noted is None:
        return Decision(None, (), (note,))
    later = [key for key in known.values() if key.purpose == purpose and _follows(key, noted)]
    if noted.activated_at is not None and not later:
        raise in_use(key_id)
    closed = Update(noted, replace(noted, retired_at=found.now))
    gone = Delete(type(noted), (key_id,))
    return Decision(None, (closed if purpose == AUDIT else gone,), (note,))


def _follows(key: NotedKey, former: NotedKey) -> bool:
    return (key.activated_at or 0) > (former.activated_at or 0)


def in_use(key_id: str) -> KeyRefused:
    """The refusal to retire a key that new data is under."""
    return KeyRefused(f"{key_id} is in use. Activate another first.")


def require_unused(nodes: Iterable[Node], key_id: str) -> None:
    """Refuses a key that one of the nodes uses."""
    using = [node for node in nodes if key_id in node.active]
    if using:
        raise KeyRefused(f"{key_id} is not retired: {_named(using)} with it. {_WHAT_TO_DO}")


def _named(nodes: Iterable[Node]) -> str:
    names = [node.name for node in nodes]
    return f"{' and '.join(names)} {'serves' if len(names) == 1 else 'serve'}"
