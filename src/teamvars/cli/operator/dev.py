"""`dev`: a throw-away server with sample data."""

import http.client
import ssl
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import click

from teamvars import settings, wiring
from teamvars.cli.operator import sample
from teamvars.cli.operator.context import finish, load_settings, operator
from teamvars.cli.operator.installation import initialise
from teamvars.cli.operator.serve import free_address, listen
from teamvars.domain.access import Caller
from teamvars.domain.directory import Applied
from teamvars.domain.memberships import InvitationDraft
from teamvars.domain.preconditions import ANY_VERSION
from teamvars.domain.variables import WorkspaceFilter
from teamvars.security import keyring
from teamvars.security.certificates import throw_away
from teamvars.security.tokens import hash_token
from teamvars.services.directory_files.files import Options
from teamvars.services.tokens import OwnerName
from teamvars.services.variables import Variables
from teamvars.settings import DialectName, Settings
from teamvars.storage.engines import database_for

_AUTHORITY, _CERTIFICATE, _KEY = "ca.pem", "server.pem", "server.key"
_POLL_SECONDS = 0.1
_START_SECONDS = 30


@click.command()
@click.option("--port", type=int, default=8080, help="The port to listen on.")
@click.option("--tls", is_flag=True, help="Serve the terraform command line, which needs TLS.")
def dev(port: int, tls: bool) -> None:
    """Try teamvars: a server with sample data, until Ctrl-C."""
    load_settings()
    with tempfile.TemporaryDirectory(prefix="teamvars-") as folder:
        authority = _write_certificates(Path(folder)) if tls else None
        # Flags win over the environment, so that a real store is never touched.
        config = settings.load(
            data_dir=Path(folder),
            database_url=f"sqlite:///{folder}/teamvars.db",
            keyring=Path(folder) / "keyring.json",
            host="127.0.0.1",
            port=port,
            workers=1,
            tls_cert=authority and authority.with_name(_CERTIFICATE),
            tls_key=authority and authority.with_name(_KEY),
            dialect=DialectName.TERRAFORM if tls else None,
        )
        if not tls:  # nor are real certificates
            config = config.model_copy(update={"tls_cert": None, "tls_key": None})
        free_address(config)
        applied, tokens = finish(_fill(config))
        url = f"https://localhost:{port}" if tls else f"http://{config.host}:{port}"
        text = sample.tour(url, applied, tokens, authority)
        waiting = threading.Thread(
            target=_print_when_ready, args=(config, authority, text), daemon=True
        )
        waiting.start()
        listen(config)


async def _fill(config: Settings) -> tuple[Applied, dict[str, str]]:
    """Brings the sample data; returns the ids and alice's, bob's and erin's tokens."""
    await initialise(config)
    keys = keyring.load(config.keyring_path)
    async with database_for(config.url) as database:
        services = wiring.services(database, keys, config.quota)
        applied = await services.directory.apply(operator(), sample.DIRECTORY, Options())
        tokens = {
            name: (await services.tokens.create(operator(), OwnerName(user=name), None)).secret
            for name in ("alice", "bob", "erin")
        }
        callers = {
            name: Caller(hash_token(token), operator().request_id) for name, token in tokens.items()
        }
        auditors = applied.organizations["acme"].teams["auditors"]
        invited = InvitationDraft(sample.INVITED, [auditors])
        await services.invitations.invite(callers["alice"], "acme", invited)
        await _fill_workspaces(services.variables, applied, callers)
    return applied, tokens


async def _fill_workspaces(
    variables: Variables, applied: Applied, callers: Mapping[str, Caller]
) -> None:
    """Brings the variables, and what people have changed in them since."""
    workspaces, ids = applied.organizations["acme"].workspaces, {}
    for name, drafts in sample.VARIABLES.items():
        for draft in drafts:
            made = await variables.create(
                callers["alice"], workspaces[name], draft, WorkspaceFilter()
            )
            ids[name, draft.key] = made.variable.id
    for who, name, draft in sample.CHANGES:
        variable_id = ids[name, draft.key]
        await variables.update(callers[who], workspaces[name], variable_id, draft, ANY_VERSION)


def _write_certificates(folder: Path) -> Path:
    """Makes an authority and the server's certificate; returns where the authority's is."""
    made = throw_away()
    contents = {_AUTHORITY: made.authority, _CERTIFICATE: made.certificate, _KEY: made.key}
    for name, content in contents.items():
        path = folder / name
        path.touch(0o600)
        path.write_bytes(content)
    return folder / _AUTHORITY


def _print_when_ready(config: Settings, authority: Path | None, text: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        # First of all: the server forks now, and this thread must not hold a lock meanwhile.
        time.sleep(_POLL_SECONDS)
        if _is_ready(config, authority):
            click.echo(text)
            return


def _is_ready(config: Settings, authority: Path | None) -> bool:
    connection = http.client.HTTPConnection(config.host, config.port, timeout=1)
    if authority is not None:
        trust = ssl.create_default_context(cafile=str(authority))
        connection = http.client.HTTPSConnection(config.host, config.port, timeout=1, context=trust)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
