"""A server on a store with one workspace, and writers who never rest."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from tests.faults.journal import losses
from tests.faults.writers import Writers
from tests.support.commands import Host
from tests.support.directory_files import ONE_WORKSPACE
from tests.support.postgres import LocalPostgres
from tests.support.server import Server


@dataclass(frozen=True)
class ServerUnderLoad:
    """A server on a store with one workspace, and writers who never rest."""

    server: Server
    path: str
    token: str
    writers: Writers

    def broken_promises(self) -> list[str]:
        """What is missing, altered or there by halves; none when all promises were kept."""
        with self.server.client(self.token) as client:
            answer = client.get(self.path)
        assert answer.status_code == 200, answer.text
        host = self.server.host
        entries = [json.loads(line) for line in host.succeed("audit", "export").out.splitlines()]
        entries = [entry for entry in entries if entry["stream"] in self.path]
        verified = host.run("audit", "verify")
        found = losses(self.writers.writes, answer.json()["data"], entries)
        return found if verified.code == 0 else [*found, verified.out]


def server_under_load(host: Host, workers: int = 1) -> ServerUnderLoad:
    """An initialised store and its server, not yet started."""
    host = replace(host, settings={**host.settings, "MAX_VARIABLES": "0"})
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(ONE_WORKSPACE)
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    path = f"/api/v2/workspaces/{applied['organizations']['acme']['workspaces']['network']}/vars"
    server = Server(host, workers=workers)
    return ServerUnderLoad(server, path, token, Writers(server.url, path, token))


def on_postgres(server: LocalPostgres, folder: Path) -> Host:
    """A host whose store is a new database of the server."""
    name = f"crash-{uuid4()}"
    server.create_database(name)
    return Host(folder, {"DATABASE_URL": server.url(name)})
