"""Variables and events to seal and to record."""

import hmac

from teamvars.domain.audit import Actor, AuditEntry, Event
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Category
from teamvars.security import length_prefixed
from teamvars.security.keyring import KeySet

VARIABLE = Variable(
    id="var-1",
    owner_id="ws-1",
    key="region",
    value=None,
    description="",
    category=Category.TOOL,
    hcl=False,
    sensitive=False,
    version_id="1",
    created_at=1,
)


def event(number: int) -> Event:
    """One of several events that differ in everything."""
    actor = Actor("user", f"user-{number}", f"at-{number}" if number % 2 else None)
    address = f"192.0.2.{number}" if number % 3 else None
    subject = ("vars", f"var-{number}")
    details = {"key": f"k{number}", "n": number}
    return Event(actor, f"req-{number}", f"variable.{number}", *subject, details, number, address)


def as_version_1(entry: AuditEntry, keys: KeySet) -> AuditEntry:
    """The entry as it was authenticated before there were versions and addresses."""
    fields = entry[: AuditEntry._fields.index("version")]
    authenticated = length_prefixed("audit entry", *fields)
    link = hmac.digest(keys.keys[entry.key_id], authenticated, "sha256")
    return entry._replace(version=1, address=None, link=link)
