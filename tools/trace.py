"""What a request passes: files and functions of `src`, on both engines: `python3 dev.py trace`.

Each request is made once and again before it is traced, so that what a first one prepares is not
counted. A function counts once, however often it is entered; what a class makes without source of
its own does not count. `--show` lists them, in the order of their first entry.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import structlog

from tests.support.deployment import open_deployment
from tests.support.postgres import LocalPostgres
from tests.support.tenant import Tenant, build_tenant, variable_document

SOURCES = Path(__file__).parents[1] / "src"
REPEATS = 3
"""How often a request is made before it is traced."""

Request = Callable[[int], Awaitable[Any]]


class Tracer:
    """Notes which functions of `SOURCES` are entered, on whatever thread, while it is asked to."""

    def __init__(self) -> None:
        self._entered: dict[CodeType, None] | None = None

    @contextmanager
    def tracing(self) -> Iterator[dict[CodeType, None]]:
        """While this lasts, fills what it yields."""
        self._entered = {}
        try:
            yield self._entered
        finally:
            self._entered = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self._entered is not None:
            code = frame.f_code
            if code.co_filename.startswith(str(SOURCES)):
                self._entered[code] = None


def main() -> int:
    """Prints a line for each request and engine."""
    parser = argparse.ArgumentParser(prog="dev.py trace", description="Count what requests pass.")
    parser.add_argument("--show", action="store_true", help="list the functions")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("warning"))
    tracer = Tracer()
    # Before any thread starts, and with it those that run statements.
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    print("request        engine      files  functions")
    with tempfile.TemporaryDirectory() as folder, LocalPostgres() as postgres:
        postgres.create_database("traced")
        for engine, url in (
            ("SQLite", f"sqlite:///{folder}/teamvars.db"),
            ("PostgreSQL", postgres.url("traced")),
        ):
            for name, entered in asyncio.run(traced(url, tracer)).items():
                files = {code.co_filename for code in entered}
                print(f"{name:15}{engine:12}{len(files):5}{len(entered):11}")
                if options.show:
                    print(*map(shown, entered), sep="\n")
    return 0


async def traced(url: str, tracer: Tracer) -> dict[str, dict[CodeType, None]]:
    """What each request enters."""
    found = {}
    async with open_deployment(url) as deployment:
        for name, request in requests(await build_tenant(deployment)).items():
            for number in range(REPEATS):
                await request(number)
            with tracer.tracing() as found[name]:
                await request(REPEATS)
    return found


def requests(tenant: Tenant) -> dict[str, Request]:
    """What is traced."""
    path = tenant.vars_path()
    return {
        "create": lambda n: tenant.call("writer", "POST", path, variable_document(key=f"key{n}")),
        "cached list": lambda _: tenant.call("writer", "GET", path),
    }


def shown(code: CodeType) -> str:
    """A function and where it is."""
    return f"    {Path(code.co_filename).relative_to(SOURCES)} {code.co_qualname}"


if __name__ == "__main__":
    sys.exit(main())
