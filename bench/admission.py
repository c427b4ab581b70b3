"""What fairness costs a request that nobody competes with: `python -m bench.admission`.

Processor time of the steps that each request makes, in one process, without a server.
"""

import asyncio
import time
from typing import Any

from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.security.tokens import hash_token
from teamvars.time_limits import TimeLimits
from teamvars.web.http.admission import Admission
from teamvars.web.http.request import Request

REQUESTS = 200_000
ROUNDS = 7


async def _cost(rate_limit: int) -> float:
    """The median of some rounds, in µs a request."""
    nobody: Any = None  # no session is asked, no request has a body
    admission = Admission(nobody, TimeLimits(), rate_limit)
    scope = {
        "http_version": "1.1",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [],
    }
    request = Request(scope, nobody, TimeLimits(), nobody)
    caller = Caller(hash_token("t"), "r", Actor("user", "user-1", "at-1"), None, "org-1")
    request.caller, request.client = caller, "192.0.2.1"
    await admission.enter(request)
    admission.leave(request)
    costs = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(REQUESTS):
            await admission.admit(request, caller, is_costly=False)
            await admission.enter(request)
            admission.leave(request)
            if admission.limits_rates:
                tuple(admission.headers(request))
        costs.append((time.process_time() - begun) / REQUESTS * 1e6)
    return sorted(costs)[ROUNDS // 2]


async def _main() -> None:
    print(f"without a rate limit: {await _cost(0):.2f} µs a request")
    print(f"with one: {await _cost(1_000_000_000):.2f} µs a request")


if __name__ == "__main__":
    asyncio.run(_main())
