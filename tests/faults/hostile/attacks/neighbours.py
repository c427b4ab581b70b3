"""Floods of what their senders may do, by a neighbour who keeps hundreds of requests under way."""

from collections.abc import Callable, Sequence

from tests.faults.hostile.attack import BOTH, Attack
from tests.faults.hostile.crowd import TEAMS
from tests.faults.hostile.flooder import NEW_KEY, flood
from tests.faults.hostile.target import Target, document
from tests.faults.hostile.wire import Answer

CONNECTIONS = 256

Ask = Callable[[Target, str, int], bytes]
"""What the connection of a token and a number asks."""


def lists(target: Target, token: str, _: int) -> bytes:
    """The list of 500."""
    return target.request("GET", target.crowd.long, token)


def creates(target: Target, token: str, number: int) -> bytes:
    """Another variable each time, each connection in a workspace of the token's."""
    sites = target.crowd.workspaces
    path = f"/api/v2/workspaces/{sites[number % TEAMS % len(sites)]}/vars"
    return target.request("POST", path, token, document(key=NEW_KEY))


def both(target: Target, token: str, number: int) -> bytes:
    """A connection of either kind after the other."""
    return (lists if number // TEAMS % 2 == 0 else creates)(target, token, number)


async def _flood(target: Target, seconds: float, tokens: Sequence[str], ask: Ask) -> list[Answer]:
    requests = [ask(target, tokens[n % len(tokens)], n) for n in range(CONNECTIONS)]
    return await flood(target.port, seconds, requests)


async def lists_of_one_token(target: Target, seconds: float) -> list[Answer]:
    return await _flood(target, seconds, target.crowd.tokens[:1], lists)


async def creates_of_one_token(target: Target, seconds: float) -> list[Answer]:
    return await _flood(target, seconds, target.crowd.tokens[:1], creates)


async def ten_tokens_of_a_user(target: Target, seconds: float) -> list[Answer]:
    return await _flood(target, seconds, target.crowd.tokens, both)


async def tokens_of_a_hundred_teams(target: Target, seconds: float) -> list[Answer]:
    return await _flood(target, seconds, target.crowd.team_tokens, both)


ATTACKS = [
    Attack(f"flood of {name}", run, frozenset({200, 201, 422}), needed, fair=True, engines=BOTH)
    for name, run, needed in (
        ("lists by one token", lists_of_one_token, frozenset({200})),
        ("creates by one token", creates_of_one_token, frozenset({201})),
        ("both by ten tokens of a user", ten_tokens_of_a_user, frozenset({200, 201})),
        ("both by a hundred teams", tokens_of_a_hundred_teams, frozenset({200, 201})),
    )
]
