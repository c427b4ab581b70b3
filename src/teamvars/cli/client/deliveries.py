"""What a job is handed: a token for what proves it, and with that values, sealed to its own key.

Nothing that answers is believed for being there: what is delivered is signed with a key that was
pinned beforehand, and says what it was asked for.
"""

import hashlib
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from teamvars.cli.client.api import at
from teamvars.cli.client.api.errors import faults_of
from teamvars.cli.client.api.sending import MEDIA_TYPE, Sending, document_of, form_to, object_of
from teamvars.cli.client.api.transport import Connection, Reply, Request
from teamvars.cli.client.jobs import Asked, Place, Proof
from teamvars.cli.commands import SERVER_KEY
from teamvars.cli.exits import UNAUTHENTICATED, Failure, Misuse
from teamvars.kernel import Discreet
from teamvars.protocol import Malformed, bundles, decoded, encoded, token_id
from teamvars.protocol.bundles import Delivered, Delivery, Info, JobKey, received

_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
_JWT = "urn:ietf:params:oauth:token-type:jwt"
_BAD_TOKEN, _NO_RUNNER = "invalid_request", "invalid_target"
_MOST_LOST = 3
"""Answers of exchanges, each of which uses up what proves the job."""


class Handed(NamedTuple):
    """What a job was handed. `is_bound`: the issuer had vouched for its key."""

    info: Info
    variables: Sequence[Delivered]
    is_bound: bool


class Named(Discreet, frozen=True, rename="kebab"):
    """A variable of a workspace, without its value. `handed_out`: whether the job is handed it."""

    key: str
    category: str
    handed_out: bool


class Names(NamedTuple):
    """What a job would be handed by that runner, and what is there besides. `is_bound`: the issuer
    had vouched for its key.
    """

    runner: str
    variables: Sequence[Named]
    is_bound: bool


class _Token(Discreet, frozen=True):
    """What a job gets for what proves it, and from which runner."""

    value: str
    runner: str
    version: int
    is_bound: bool


def handed(asked: Asked, place: Place) -> Handed:
    """The values, for a key that this process alone has. Fails where there are none for this job,
    and where anything is not as it was asked for.
    """
    pinned = pinned_keys(asked.pins)
    key = JobKey.generate()
    with closing(Connection(asked.service, asked.travel)) as connection:
        token = _exchanged(connection, asked, place, key.thumbprint)
        delivery = _delivered(connection, asked, token, key)
    try:
        info, variables = received(delivery, key, pinned)
    except Malformed:
        raise Failure(
            f"What {asked.service} delivers is not signed with the key that {SERVER_KEY} or your "
            "settings pin: something else may answer there. Its operator can tell: "
            "teamvars server-key show"
        ) from None
    _require_asked(info, asked, token)
    return Handed(info, variables, token.is_bound)


def names(asked: Asked, place: Place) -> Names:
    """What the job would be handed, and leaves no receipt. Fails where nothing is, as `handed`."""
    with closing(Connection(asked.service, asked.travel)) as connection:
        token = _exchanged(connection, asked, place, JobKey.generate().thumbprint)
        found = _answered(connection, asked, token, None)
    try:
        variables = [msgspec.convert(one["attributes"], Named) for one in found]
    except (KeyError, TypeError, msgspec.ValidationError):
        raise _unlike(asked) from None
    return Names(token.runner, variables, token.is_bound)


def pinned_keys(text: str) -> list[Any]:
    """The keys that are pinned so. Fails on any other text."""
    try:
        return [*bundles.read_keys(text.strip())]
    except Malformed:
        raise Misuse(
            f"{SERVER_KEY} is not what 'teamvars server-key show' prints on the service's host."
        ) from None


def _require_asked(info: Info, asked: Asked, token: _Token) -> None:
    """Fails where it is a delivery of something else, however well signed."""
    name = token_id(hashlib.sha256(token.value.encode()).digest())
    wanted = asked.workspace_id, token.runner, token.version, name, tuple(asked.only)
    if (info.workspace, info.runner, info.version, info.token, info.only) != wanted:
        raise Failure(f"What {asked.service} delivers was not asked for. Nothing of it is used.")
    if info.expires_at <= time.time():
        raise Failure(
            f"What {asked.service} delivers has expired. Is the clock of this machine right?"
        )


def _exchanged(connection: Connection, asked: Asked, place: Place, thumbprint: str) -> _Token:
    """A token of the service for what proves the job (RFC 8693).

    What proves it is good once, and is used up when an answer is lost. Then the issuer is asked for
    another, unless all that it gives were there from the start.
    """
    told = "it has none"
    for _ in range(_MOST_LOST):
        is_lost = False
        for proof in place.proofs(thumbprint):
            sending = Sending(connection, _exchange(asked, proof, thumbprint), changes=False)
            found = _accepted(asked, place, proof, sending.answer())
            if (word := found.get("error")) is None:
                return _token(asked, found, proof)
            told = str(found.get("error_description", word))
            is_lost = sending.is_repeated
            if is_lost:
                told += " The answer to it was lost on the way: run the job again."
        if not (is_lost and proof.is_bound):
            break
    raise Failure(
        f"{asked.service} takes no token of this job ({place.name}): {told}", UNAUTHENTICATED
    )


def _accepted(asked: Asked, place: Place, proof: Proof, reply: Reply) -> dict[str, Any]:
    """What was answered: a token, or that what proves the job is not good. Fails with all else."""
    found = object_of(reply) or {}
    if found.get("error") == _NO_RUNNER:
        raise Failure(
            f"{asked.service} has no approved runner that hands the values of "
            f"{asked.workspace_id} to this job ({place.name}). An owner proposes it (teamvars "
            "runner create, or runner update with all of its workspaces), and the operator "
            "approves it: teamvars approvals list"
            + ("" if proof.is_bound else ". Its token names no key: that takes --allow-unbound"),
            UNAUTHENTICATED,
        )
    if reply.status != 200 and found.get("error") != _BAD_TOKEN:
        raise Failure(f"{asked.service} exchanges no tokens of jobs: it answered {reply.status}.")
    return found


def _exchange(asked: Asked, proof: Proof, thumbprint: str) -> Request:
    form = {
        "grant_type": _GRANT_TYPE,
        "subject_token": proof.token,
        "subject_token_type": _JWT,
        "resource": f"{asked.service}{at('workspaces', asked.workspace_id)}",
        **({} if proof.is_bound else {"thumbprint": thumbprint}),
    }
    return form_to("/oauth/token", form)


def _token(asked: Asked, found: dict[str, Any], proof: Proof) -> _Token:
    said = {name: found.get(name) for name in ("runner", "version")}
    whole = {**said, "value": found.get("access_token"), "is_bound": proof.is_bound}
    try:
        return msgspec.convert(whole, _Token)
    except msgspec.ValidationError:
        raise _unlike(asked) from None


def _delivered(connection: Connection, asked: Asked, token: _Token, key: JobKey) -> Delivery:
    wanted = {"public-key": encoded(key.public), "only": [*asked.only]}
    found = _answered(connection, asked, token, {"type": "deliveries", "attributes": wanted})
    try:
        said = found["attributes"]
        return Delivery(*(decoded(said[name]) for name in Delivery.__struct_fields__))
    except (KeyError, TypeError, AttributeError, Malformed):
        raise _unlike(asked) from None


def _answered(connection: Connection, asked: Asked, token: _Token, data: object | None) -> Any:
    """What the service answers to the job's own token: a delivery of that, or without it names."""
    headers = {
        "Accept": MEDIA_TYPE,
        "Authorization": f"Bearer {token.value}",
        "Content-Type": MEDIA_TYPE,
    }
    body = None if data is None else msgspec.json.encode({"data": data})
    path = at("workspaces", asked.workspace_id, "actions", "deliver")
    request = Request("GET" if body is None else "POST", path, headers, body)
    reply = Sending(connection, request, changes=False).answer()
    document = document_of(reply)
    if reply.status != 200:
        details = " ".join(fault.detail for fault in faults_of(document))
        raise Failure(f"{asked.service} delivers nothing (it answered {reply.status}). {details}")
    return None if document is None else document.get("data")


def _unlike(asked: Asked) -> Failure:
    return Failure(f"{asked.service} does not answer as teamvars would. Check the address.")
