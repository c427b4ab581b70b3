"""Every attack, by what it is made of."""

from tests.faults.hostile.attacks import (
    applies,
    bodies,
    code,
    connections,
    documents,
    floods,
    locks,
    parameters,
    unread,
)

ATTACKS = [
    *documents.ATTACKS,
    *bodies.ATTACKS,
    *floods.ATTACKS,
    *connections.ATTACKS,
    *unread.ATTACKS,
    *code.ATTACKS,
    *applies.ATTACKS,
    *locks.ATTACKS,
    *parameters.ATTACKS,
]
