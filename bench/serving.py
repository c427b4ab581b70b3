"""What `bench.bystanders` runs in each checkout: serves a store on each engine, and tells of an
apply on the one it is asked about what others feel of it.

It knows no more of the checkout that it runs in than both have.
"""

import asyncio
import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import applies, dataset, machine
from bench.rounds import Effort
from bench.stage import POSTGRES, SQLITE
from bench.subjects import Served
from tests.support.commands import InstalledHost
from tests.support.postgres import LocalPostgres
from tests.support.server import Server


def main() -> None:
    """Answers each line with the figures of one apply."""
    with TemporaryDirectory() as folder, LocalPostgres(durable=True) as postgres:
        host = InstalledHost(Path(folder), {"LOG_FORMAT": "json", "MAX_VARIABLES": "0"})
        made = asyncio.run(dataset.build(host, dataset.EMPTY))
        with_postgres = asyncio.run(dataset.copy(host, postgres, "served"))
        with Server(host) as own, Server(with_postgres) as other:
            servers = {SQLITE: own, POSTGRES: other}
            print("ready", flush=True)
            for line in sys.stdin:
                server = servers[line.strip()]
                served = Served(line.strip(), server.url, server.pid, made)
                with redirect_stdout(sys.stderr):
                    told = asdict(applies.measure([served], Effort(1, 1))[served.name])
                print(json.dumps({**told, "memory": machine.memory_mib(server.pid)}), flush=True)


if __name__ == "__main__":
    main()
