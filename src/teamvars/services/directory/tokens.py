"""Changes to tokens; each is recorded in the stream of whoever the token is for."""

from teamvars.domain.tokens import Token
from teamvars.security.tokens import hash_token, new_token
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import tokens, users


async def create(ledger: Ledger, token: Token) -> str:
    """Adds a token; returns the token itself, which is stored nowhere."""
    secret = new_token(token.owner_kind)
    await tokens.insert(ledger.tx, token, hash_token(secret))
    if token.owner_kind == "user":
        await users.make_known(ledger.tx, token.owner_id)
    await _record(ledger, token, "create")
    return secret


async def revoke(ledger: Ledger, token: Token) -> None:
    """Ends a token."""
    await tokens.delete(ledger.tx, token.id)
    await _record(ledger, token, "revoke")


async def _record(ledger: Ledger, token: Token, verb: str) -> None:
    summary = {
        "owner": f"{token.owner_kind} {token.owner_id}",
        "expires-at": token.expires_at,
    }
    await ledger.record(tokens.stream_of(token), f"token.{verb}", token.id, summary)
