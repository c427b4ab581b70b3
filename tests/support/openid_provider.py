"""OpenID providers of others, behind TLS on this machine, and what they say of somebody."""

import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from teamvars.security.certificates import throw_away
from tests.support.patience import HANGS

_SERVER, _CANAILLE = "tests.support.openid_server", "tests.support.canaille_server"
_BACK = "http://localhost/back"


@dataclass(frozen=True)
class Provider:
    """A running provider, for which only the authority in that file vouches."""

    url: str
    authority: Path

    def id_token(self, audience: str, subject: str) -> str:
        """What it says of somebody to whom it knows by that audience: an ID token, as any client
        gets one (OpenID Connect Core, section 3.1).
        """
        trust = ssl.create_default_context(cafile=str(self.authority))
        asked = {
            "client_id": audience,
            "redirect_uri": _BACK,
            "response_type": "code",
            "scope": "openid",
        }
        with httpx.Client(base_url=self.url, verify=trust, timeout=HANGS) as client:
            answer = client.post("/oauth2/authorize", params=asked, data={"sub": subject})
            (code,) = parse_qs(urlsplit(answer.headers["location"]).query)["code"]
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": _BACK}
            own = {"client_id": audience, "client_secret": "any"}
            said = client.post("/oauth2/token", data={**form, **own})
            token: str = said.json()["id_token"]
            return token


def provider(folder: Path) -> AbstractContextManager[Provider]:
    """One that is made for tests, and knows whoever asks; with keys of its own, while this lasts.

    It looks at no `code_verifier`.
    """
    return _running(folder, _SERVER)


def canaille(folder: Path, redirect: str) -> AbstractContextManager[Provider]:
    """Canaille, which people run: it knows one client, which has to come back with the
    `code_verifier` (RFC 7636), and sends alice back to that address.
    """
    return _running(folder, _CANAILLE, redirect)


@contextmanager
def _running(folder: Path, server: str, *arguments: str) -> Iterator[Provider]:
    made = throw_away()
    authority, chain, key = folder / "authority.pem", folder / "chain.pem", folder / "key.pem"
    for path, content in (authority, made.authority), (chain, made.certificate), (key, made.key):
        path.write_bytes(content)
    command = [sys.executable, "-W", "ignore", "-m", server, str(chain), str(key), *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"https://localhost:\d+", url)
        try:
            yield Provider(url, authority)
        finally:
            process.stdin.close()
            process.wait(HANGS)
