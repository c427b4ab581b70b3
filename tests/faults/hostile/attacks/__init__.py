"""Every attack, by what it is made of."""

from tests.faults.hostile.attacks import (
    applies,
    bodies,
    code,
    connections,
    documents,
    floods,
    locks,
    neighbours,
    parameters,
    tokens,
    unread,
)

ATTACKS = [
    *documents.ATTACKS,
    *bodies.ATTACKS,
    *floods.ATTACKS,
    *neighbours.ATTACKS,
    *tokens.ATTACKS,
    *connections.ATTACKS,
    *unread.ATTACKS,
    *code.ATTACKS,
    *applies.ATTACKS,
    *locks.ATTACKS,
    *parameters.ATTACKS,
]
