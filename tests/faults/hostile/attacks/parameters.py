"""Every query parameter that is read, far longer than it means anything."""

import re
import time
from collections.abc import Iterator

from teamvars import wiring
from teamvars.web.http.routes import Route
from tests.faults.hostile.attack import BOTH, Attack
from tests.faults.hostile.target import Target
from tests.faults.hostile.wire import Answer, ask

LONG = 50_010


async def long_parameters(target: Target, seconds: float) -> list[Answer]:
    """Each of them once, and then again; of letters, of digits and of words in a list."""
    end = time.monotonic() + seconds
    answers: list[Answer] = []
    while not answers or time.monotonic() < end:
        requests = [target.request("GET", path, target.owner) for path in _paths(target)]
        answers += [await ask(target.port, sent) for sent in requests]
    return answers


def _paths(target: Target) -> Iterator[str]:
    for route in wiring.routes(target.served.services):
        if route.method != "GET":
            continue
        for parameter in route.reads:
            for text in ("a" * LONG, "9" * LONG, "a," * (LONG // 2), "%25" * (LONG // 3)):
                yield f"{_path(route, target)}?{parameter.name}={text}"


def _path(route: Route, target: Target) -> str:
    """The route's path for things that there are."""
    tenant = target.tenant
    known = {
        "organization": tenant.organization,
        "workspace_id": tenant.workspaces["network"],
        "team_id": tenant.teams["crew"],
        "membership_id": tenant.memberships["owner"],
    }
    return re.sub(
        r"\{(\w+)\}", lambda found: known.get(found[1], "nothing-of-the-kind"), route.template
    )


ATTACKS = [
    Attack(
        "long parameters",
        long_parameters,
        # 200: a list that nothing matches. 404: a path of nothing.
        frozenset({200, 400, 404, 414, 431}),
        engines=BOTH,
    )
]
