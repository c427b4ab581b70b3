"""OpenBao, the open Vault, as a reference: set up as for one node that keeps secrets.

Raft storage on disk, no audit device, secrets by version (KV 2), a client whose token has a policy
that lets it read and write them and nothing else. What it keeps is what our store keeps.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench import programs, transfer
from bench.dataset import SPREAD, Dataset
from bench.subjects import Served
from bench.works import CREATE, LIST, Work
from bench.wrk import NUMBER, Request
from tests.support.openbao import OpenBao

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
    with OpenBao(folder) as bao:
        workspace_id = dataset.workspaces["list-20"]
        values = {transfer.key(n): transfer.value(workspace_id, n) for n in range(_VALUES)}
        _keep(bao, _SECRET.format(LIST.name), values)
        made = bao.client.post("/v1/auth/token/create", json={"policies": ["bench"]})
        token = str(made.raise_for_status().json()["auth"]["client_token"])
        yield Served(programs.OPENBAO, bao.url, bao.pid, replace(dataset, token=token))


@contextmanager
def for_jobs(folder: Path, key: str, issuer: str, count: int) -> Iterator[tuple[str, int]]:
    """A server that has a secret of so many values for jobs of an issuer with that public key, in
    PEM; yields its address and process.
    """
    with OpenBao(folder) as bao:
        _keep(bao, OF_JOBS, {f"KEY_{n}": f"value-{n}" * 4 for n in range(count)})
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
            bao.client.post(path, json=said).raise_for_status()
        yield bao.url, bao.pid


def _keep(bao: OpenBao, path: str, values: dict[str, str]) -> None:
    """Has it keep a secret, in an engine for secrets, with a policy for those who use it."""
    engine = {"type": "kv", "options": {"version": "2"}}
    bao.client.post("/v1/sys/mounts/secret", json=engine).raise_for_status()
    policy = bao.client.put("/v1/sys/policies/acl/bench", json={"policy": _POLICY})
    policy.raise_for_status()
    # The engine is ready a moment after it was mounted.
    bao.send_until_taken("POST", path, {"data": values})
