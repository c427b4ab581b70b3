"""Keys that the store knows, and nodes: how decisions about them are fed."""

from collections.abc import Mapping

from teamvars.changes.looks import LookUps, Tools
from teamvars.decisions import Found
from teamvars.decisions.keys import LiveNodes, NotedKeys
from teamvars.domain.keys import Node, NotedKey
from teamvars.storage import keys
from teamvars.storage.database import Transaction


async def _noted(tx: Transaction, _: Tools, __: Found, ___: NotedKeys) -> Mapping[str, NotedKey]:
    return await keys.noted(tx)


async def _live(tx: Transaction, _: Tools, found: Found, __: LiveNodes) -> tuple[Node, ...]:
    return await keys.live(tx, found.now)


LOOK_UPS: LookUps = {NotedKeys: _noted, LiveNodes: _live}
