"""OpenBao, the open Vault, as a reference: set up as for one node that keeps secrets.

Raft storage on disk, no audit device, secrets by version (KV 2), a client whose token has a policy
that lets it read and write them and nothing else. What it keeps is what our store keeps.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx

from bench import programs, transfer
from bench.dataset import SPREAD, Dataset
from bench.references import running
from bench.subjects import Served
from bench.works import CREATE, LIST, Work
from bench.wrk import NUMBER, Request
from tests.support.patience import HANGS
from tests.support.server import free_port

# The multiplier matters to elections alone: with the default one, the first takes five seconds.
_CONFIG = """
storage "raft" {{
  path                   = "{folder}/raft"
  node_id                = "bench"
  performance_multiplier = 1
}}
listener "tcp" {{
  address         = "127.0.0.1:{port}"
  cluster_address = "127.0.0.1:{cluster}"
  tls_disable     = true
}}
api_addr     = "http://127.0.0.1:{port}"
cluster_addr = "https://127.0.0.1:{cluster}"
"""
_POLICY = 'path "secret/data/*" { capabilities = ["create", "read", "update"] }'
_VALUES = 20
_SECRET = "/v1/secret/data/{}"
OF_JOBS = _SECRET.format("jobs")
ROLE, AUDIENCE = "job", "https://openbao.example.com"
"""What jobs log in to, and whom their tokens are made out to."""


def _read(_: Dataset) -> list[Request]:
    return [Request("GET", _SECRET.format(LIST.name))]


def _write(_: Dataset) -> list[Request]:
    body = json.dumps({"data": {f"created_{NUMBER}": "eu-central-1"}})
    return [Request("POST", _SECRET.format(name), body) for name in SPREAD]


# Beside ours under the same names: so they share a table's rows.
READ = Work(LIST.name, "read a secret of 20 values", _read)
WRITE = Work(CREATE.name, "write secrets of one value over 64 paths", _write)


@contextmanager
def openbao(folder: Path, dataset: Dataset) -> Iterator[Served]:
    """A server that is unsealed and has a secret with the values of our list of 20."""
    with _server(folder) as (url, pid):
        workspace_id = dataset.workspaces["list-20"]
        values = {transfer.key(n): transfer.value(workspace_id, n) for n in range(_VALUES)}
        token = _prepared(url, values)
        yield Served(programs.OPENBAO, url, pid, replace(dataset, token=token))


@contextmanager
def for_jobs(folder: Path, key: str, issuer: str, count: int) -> Iterator[tuple[str, int]]:
    """A server that has a secret of so many values for jobs of an issuer with that public key, in
    PEM; yields its address and process.
    """
    with _server(folder) as (url, pid):
        values = {f"KEY_{n}": f"value-{n}" * 4 for n in range(count)}
        with httpx.Client(base_url=url, timeout=HANGS, trust_env=False) as client:
            _unseal(client)
            _send_until_taken(client, "POST", OF_JOBS, {"data": values})
            for path, said in (
                ("/v1/sys/auth/jwt", {"type": "jwt"}),
                ("/v1/auth/jwt/config", {"jwt_validation_pubkeys": [key], "bound_issuer": issuer}),
                (
                    f"/v1/auth/jwt/role/{ROLE}",
                    {
                        "role_type": "jwt",
                        "bound_audiences": [AUDIENCE],
                        "bound_subject": "job",
                        "user_claim": "sub",
                        "token_policies": ["bench"],
                        "token_ttl": "15m",
                    },
                ),
            ):
                client.post(path, json=said).raise_for_status()
        yield url, pid


@contextmanager
def _server(folder: Path) -> Iterator[tuple[str, int]]:
    """A server that nobody has made ready; its address and process."""
    (folder / "raft").mkdir(parents=True)
    port, config = free_port(), folder / "bao.hcl"
    config.write_text(_CONFIG.format(folder=folder, port=port, cluster=free_port()))
    command = [programs.BAO, "server", f"-config={config}"]
    with running(command, port, folder / "log") as pid:
        yield f"http://127.0.0.1:{port}", pid


def _prepared(url: str, values: dict[str, str]) -> str:
    """Makes it ready and returns a client's token. What it raises names no key and no token."""
    with httpx.Client(base_url=url, timeout=HANGS, trust_env=False) as client:
        _unseal(client)
        # The engine is ready a moment after it was mounted.
        _send_until_taken(client, "POST", _SECRET.format(LIST.name), {"data": values})
        client_token = client.post("/v1/auth/token/create", json={"policies": ["bench"]})
        return str(client_token.raise_for_status().json()["auth"]["client_token"])


def _unseal(client: httpx.Client) -> None:
    """Makes it ready, with an engine for secrets and a policy for those who use it; the client is
    its root from then on.
    """
    shares = {"secret_shares": 1, "secret_threshold": 1}
    made = client.put("/v1/sys/init", json=shares).raise_for_status().json()
    client.put("/v1/sys/unseal", json={"key": made["keys"][0]}).raise_for_status()
    client.headers["Authorization"] = f"Bearer {made['root_token']}"
    # It first has to become the leader of its cluster of one.
    _send_until_taken(client, "GET", "/v1/sys/health")
    engine = {"type": "kv", "options": {"version": "2"}}
    client.post("/v1/sys/mounts/secret", json=engine).raise_for_status()
    policy = client.put("/v1/sys/policies/acl/bench", json={"policy": _POLICY})
    policy.raise_for_status()


def _send_until_taken(client: httpx.Client, method: str, path: str, body: object = None) -> None:
    deadline = time.monotonic() + HANGS
    while (answer := client.request(method, path, json=body)).is_error:
        if time.monotonic() > deadline:
            answer.raise_for_status()
        time.sleep(0.02)
