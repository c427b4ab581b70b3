"""OpenBao, the open Vault: a node with storage on disk, which goes down and comes back."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx

from tests.support.patience import HANGS, wait_until
from tests.support.server import end_group, free_port

BAO = str(Path(sys.executable).with_name("bao"))
_SETTINGS = ("BAO_", "VAULT_")
# The multiplier matters to elections alone: with the default one, the first takes five seconds.
_CONFIG = """
storage "raft" {{
  path                   = "{folder}/raft"
  node_id                = "one"
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


class OpenBao:
    """A node that is set up and unsealed inside a `with`, and again after each `start`; `client`
    asks it as its root.
    """

    def __init__(self, folder: Path) -> None:
        (folder / "raft").mkdir(parents=True)
        port, self._config, self._log = free_port(), folder / "bao.hcl", folder / "bao.log"
        self._config.write_text(_CONFIG.format(folder=folder, port=port, cluster=free_port()))
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=HANGS, trust_env=False)
        self._process: subprocess.Popen[str] | None = None
        self._key: str | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.client.close()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def token(self) -> str:
        """Its root's."""
        return str(self.client.headers["X-Vault-Token"])

    def start(self) -> None:
        """Starts it, or starts it again, and returns once it serves."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(_SETTINGS)}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [BAO, "server", f"-config={self._config}"],
                env=inherited,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        wait_until(self._listens, self._log.read_text)
        if self._key is None:
            shares = {"secret_shares": 1, "secret_threshold": 1}
            made = self.client.put("/v1/sys/init", json=shares).raise_for_status().json()
            self._key = made["keys"][0]
            self.client.headers["X-Vault-Token"] = made["root_token"]
        self.client.put("/v1/sys/unseal", json={"key": self._key}).raise_for_status()
        # It first has to become the leader of its cluster of one.
        self.send_until_taken("GET", "/v1/sys/health")

    def kill(self) -> None:
        """Ends it as a crash does."""
        if self._process is not None:
            end_group(self._process)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within it, it takes connections and says nothing."""
        os.killpg(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.pid, signal.SIGCONT)

    def send_until_taken(self, method: str, path: str, body: object = None) -> None:
        """Sends it until it is no longer too early for that. What is raised names no token."""
        deadline = time.monotonic() + HANGS
        while (answer := self.client.request(method, path, json=body)).is_error:
            if time.monotonic() > deadline:
                answer.raise_for_status()
            time.sleep(0.02)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        try:
            self.client.get("/v1/sys/seal-status")
        except httpx.TransportError:
            return False
        return True
