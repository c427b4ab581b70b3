"""Invitations as rows: the hashes of their links, the messages that wait, and what a day counts."""

from collections.abc import Sequence
from typing import Any

import msgspec

from teamvars.domain.invitations import Delivery, Invitation, Invited, Link
from teamvars.domain.keys import Sealed
from teamvars.domain.times import DAY
from teamvars.storage.database import Lookup, Statement, Transaction
from teamvars.storage.pages import after
from teamvars.storage.queues import Claimed, Queue
from teamvars.storage.users import NEVER_KNOWN, to_user

_INVITED = (
    "memberships.id, organizations.id, organizations.name, inviters.username, "
    "coalesce(memberships.invited_as, users.email, '') AS address, "
    "invitations.expires_at, "
    "users.id AS user_id, users.username, users.email, users.site_admin, "
    f"CASE WHEN {NEVER_KNOWN} THEN 1 ELSE 0 END AS placeholder, users.disabled"
)
_JOINED = """
FROM invitations
JOIN memberships ON memberships.id = invitations.membership_id AND memberships.status = 'invited'
JOIN organizations ON organizations.id = memberships.organization_id
JOIN users ON users.id = memberships.user_id
LEFT JOIN users AS inviters ON inviters.id = invitations.invited_by
"""
_OPEN = f"SELECT {_INVITED} {_JOINED}"
FIND_BY_LINK = Lookup.of(
    f"{_OPEN} WHERE invitations.link_hash = $1 AND {after('invitations.expires_at', '$2')}",
    "BYTEA",
    "BIGINT",
)
QUEUE = Queue("invitations", id="membership_id", is_due="expires_at > $1")
_WAITING = f"""
SELECT CAST(invitations.link_hash AS {{bytes}}), CAST(invitations.sealed_secret AS {{bytes}}),
    CAST(invitations.key_version AS BIGINT), {_INVITED}
{_JOINED}
WHERE {QUEUE.claimed} AND invitations.link_hash IS NOT NULL
"""
_PUT = """
INSERT INTO invitations (membership_id, link_hash, expires_at, invited_by, delivery,
    sealed_secret, key_version, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (membership_id) DO UPDATE SET
    link_hash = excluded.link_hash, expires_at = excluded.expires_at,
    invited_by = excluded.invited_by, delivery = excluded.delivery,
    sealed_secret = excluded.sealed_secret, key_version = excluded.key_version,
    due_at = excluded.due_at, attempts = 0
"""
_SETTLE = """
UPDATE invitations SET delivery = $3, sealed_secret = NULL, due_at = NULL
WHERE membership_id = $1 AND CAST(link_hash AS {bytes}) = $2
"""
_COUNT = "INSERT INTO invitation_requests (organization_id, address_folded, at) VALUES ($1, $2, $3)"
_FORGET_REQUESTS = "DELETE FROM invitation_requests WHERE at <= $1"
_EXPIRED = (
    "SELECT membership_id FROM invitations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2"
)


class Waiting(msgspec.Struct, frozen=True):
    """What a message that is claimed says, and to whom."""

    claimed: Claimed
    invited: Invited
    link: Link


def putting(
    membership_id: str, inviter: str | None, made: Invitation, link: Link | None, now: int
) -> Statement:
    """The statement that stores an invitation in the place of the one that the membership had.

    A link that is sealed is due to be sent at once.
    """
    hash_ = None if link is None else link.hash
    content, version = (link and link.sealed) or (None, None)
    due_at = None if content is None else now
    place = membership_id, hash_, made.expires_at, inviter, made.delivery
    return Statement(_PUT, (*place, content, version, due_at))


async def find_by_link(tx: Transaction, link_hash: bytes, now: int) -> Invited | None:
    """What a link opens; None for one that is unknown, used, taken back, voided or expired."""
    row = await tx.look_up(FIND_BY_LINK, link_hash, now)
    return None if row is None else _invited(row)


async def waiting(tx: Transaction, claimed: Claimed) -> Waiting | None:
    """What the message says; None: its row was altered, and belongs to no invitation."""
    row = await tx.fetch_one(_WAITING, claimed.until, claimed.id)
    if row is None:
        return None
    hash_, content, version, *invited = row
    link = Link(bytes(hash_), Sealed(bytes(content), version))
    return Waiting(claimed, _invited(invited), link)


def settling(membership_id: str, link_hash: bytes, how: Delivery) -> Statement:
    """The statement that stores what became of a message, whose secret is erased; unless another is
    in its place.
    """
    return Statement(_SETTLE, (membership_id, link_hash, how))


async def expired(tx: Transaction, now: int, limit: int) -> Sequence[str]:
    """The memberships whose invitations have expired, by id, the oldest first."""
    return await tx.column(_EXPIRED, now, limit)


def counting(organization_id: str, address: str, now: int) -> Statement:
    """The statement that counts a link for an organization and an address in its counted form."""
    return Statement(_COUNT, (organization_id, address, now))


async def requests_of_day(
    tx: Transaction, organization_id: str, address: str, now: int
) -> tuple[int, int]:
    """How many links an organization, and an address in that form from whomever, have had within a
    day.
    """
    of_organization = await _count(tx, "organization_id", organization_id, now)
    return of_organization, await _count(tx, "address_folded", address, now)


async def has_old_requests(tx: Transaction, now: int) -> bool:
    """Whether there are any that count no more."""
    old = "SELECT at FROM invitation_requests WHERE at <= $1 LIMIT 1"
    return await tx.fetch_one(old, now - DAY) is not None


async def forget_requests(tx: Transaction, now: int) -> None:
    """Deletes what counts no more."""
    await tx.execute(_FORGET_REQUESTS, now - DAY)


async def count_by_delivery(tx: Transaction, now: int) -> dict[Delivery, int]:
    """How many invitations there are that can be accepted, by what became of their messages."""
    rows = await tx.fetch(
        "SELECT delivery, count(*) FROM invitations WHERE expires_at > $1 GROUP BY delivery", now
    )
    return {Delivery(row[0]): row[1] for row in rows}


async def _count(tx: Transaction, column: str, value: str, now: int) -> int:
    return await tx.count(
        f"SELECT count(*) FROM invitation_requests WHERE {column} = $1 AND {after('at', '$2')}",
        value,
        now - DAY,
    )


def _invited(row: Sequence[Any]) -> Invited:
    membership_id, organization_id, organization, inviter, address, expires_at, *user = row
    return Invited(
        membership_id=membership_id,
        organization_id=organization_id,
        organization=organization,
        inviter=inviter,
        address=address,
        user=to_user(user),
        expires_at=expires_at,
    )
