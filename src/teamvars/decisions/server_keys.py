"""What the making of a key that signs deliveries records; the keyring itself is no row."""

from teamvars.decisions import Decision, Found
from teamvars.domain.audit import SYSTEM_STREAM


def rotated(found: Found, key_id: str, thumbprint: str, former: str | None) -> Decision[None]:
    """A server key is about to take the place of the former one, if there is one."""
    more = {} if former is None else {"former": former}
    details = {"thumbprint": thumbprint, **more}
    return Decision(None, (), (found.note(SYSTEM_STREAM, "server-key.rotate", key_id, details),))
