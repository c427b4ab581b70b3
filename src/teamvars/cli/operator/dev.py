"""`dev`: a throw-away server with sample data."""

import http.client
import json
import os
import shlex
import signal
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import click
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars import wiring
from teamvars.cli.operator.dev_accounts import CLIENT, Accounts
from teamvars.cli.operator.directory_file import read
from teamvars.cli.operator.host import finish, load_settings, operator
from teamvars.cli.operator.installation import initialise
from teamvars.cli.operator.serve import claimed_address, listen
from teamvars.cli.options import command, flag, option
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.access import Caller
from teamvars.domain.diagnosis import Pooler
from teamvars.domain.directory import Applied
from teamvars.domain.memberships import InvitationDraft
from teamvars.domain.runners import RunnerDraft
from teamvars.domain.times import DAY
from teamvars.domain.tokens import OwnerName
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.kernel.variables import Category
from teamvars.protocol import encoded
from teamvars.security import server_keys
from teamvars.security.certificates import throw_away
from teamvars.security.tokens import hash_token
from teamvars.services.directory_files.files import Options
from teamvars.services.variables import Variables
from teamvars.settings import DialectName, Settings
from teamvars.signals import clearing_up
from teamvars.storage.engines import database_for

_AUTHORITY, _CERTIFICATE, _KEY = "ca.pem", "server.pem", "server.key"
_MACHINE = "machine"
_PEOPLE = ("alice", "bob", "erin")
"""Who has a token that is printed, and an account to sign in with."""
_POLL_SECONDS = 0.1
_START_SECONDS = 30

_DIRECTORY = """
users:
  - {username: alice, email: alice@example.com}
  - {username: bob, email: bob@example.com}
  - {username: carol, email: carol@example.com}
  - {username: dave, email: dave@example.com}
  - {username: erin, email: erin@example.com}
  - {username: frank, email: frank@example.com}
  - {username: grace, email: grace@example.com}
  - {username: heidi, email: heidi@example.com}
organizations:
  - name: acme
    members:
      alice: active
      bob: active
      carol: invited
      dave: active
      erin: active
      frank: active
      grace: active
      heidi: active
    workspaces: [checkout, network, payments, warehouse]
    teams:
      - {name: owners, members: [alice]}
      - name: platform
        manage-membership: true
        members: [bob, carol, frank, grace]
        workspaces: {checkout: write, network: write, payments: read}
      - {name: auditors, members: [erin, heidi], workspaces: {payments: read}}
      - {name: on-call, visibility: secret, members: [bob, grace], workspaces: {checkout: write}}
"""
"""The sample data: an organization as platform teams have it."""

_VARIABLES = r"""
checkout:
  - {key: environment, category: tool, value: production}
  - {key: domain, category: tool, value: shop.example.com, description: What customers type}
  - {key: replicas, category: tool, hcl: true, value: "2"}
  - key: regions
    category: tool
    hcl: true
    value: |-
      {
        "eu-central-1" = { replicas = 3, primary = true }
        "us-east-1"    = { replicas = 2, primary = false }
      }
    description: Where it runs, and how often
  - {key: feature_flags, category: tool, hcl: true, value: '["express"]'}
  - {key: AWS_REGION, category: env, value: eu-central-1, description: For the provider}
  - {key: LOG_LEVEL, category: env, value: debug}
  - {key: SENTRY_DSN, category: env, sensitive: true, value: "https://k3y@errors.example.com/7"}
  - key: STRIPE_SECRET_KEY
    category: env
    sensitive: true
    value: sk_test_example
    description: Billing
network:
  - {key: region, category: tool, value: eu-central-1, description: Where everything runs}
  - key: subnets
    category: tool
    hcl: true
    value: '{ public = "10.0.1.0/24", private = "10.0.2.0/24" }'
    description: Subnets by name
  - key: availability_zones
    category: tool
    hcl: true
    value: '["a", "b", "c"]'
    description: Zones in use
  - {key: peer_count, category: tool, hcl: true, value: "3", description: How many peerings}
  - key: vpn_psk
    category: tool
    sensitive: true
    value: correct-horse-battery
    description: Of the VPN
  - {key: AWS_REGION, category: env, value: eu-central-1, description: For the provider}
  - {key: AWS_ACCESS_KEY_ID, category: env, value: AKIAEXAMPLE, description: For the provider}
  - key: AWS_SECRET_ACCESS_KEY
    category: env
    sensitive: true
    value: s3cr3t
    description: For the provider
payments:
  - {key: environment, category: tool, value: production}
  - {key: motd, category: tool, value: "Grüße, 世界\nBe careful.", description: Shown at login}
  - key: db_password
    category: tool
    sensitive: true
    value: hunter2
    description: Of the main database
  - {key: LOG_LEVEL, category: env, value: warning}
"""

_CHANGES = (
    ("bob", "checkout", VariableDraft("replicas", "3")),
    ("bob", "checkout", VariableDraft("LOG_LEVEL", "info", "debug, info or warning")),
    ("alice", "checkout", VariableDraft("STRIPE_SECRET_KEY", "sk_test_another")),
    ("bob", "checkout", VariableDraft("feature_flags", '["express", "gift-cards"]')),
)
"""What people have changed since, by key: a workspace to look at has a past."""

_INVITED = "ivan@example.com"
"""Whom alice has invited, into `auditors`."""


@command
@option("--port", "The port to listen on.", type=int, default=8080)
@flag("--tls", "Serve the terraform command line, which needs TLS.")
def dev(port: int, tls: bool) -> None:
    """Try teamvars: a server with sample data, until Ctrl-C."""
    load_settings()
    # Of somebody who goes on without the terminal (`nohup`) it is ignored.
    ends_at_hangup = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    with clearing_up(), tempfile.TemporaryDirectory(prefix="teamvars-") as folder:
        authority = _write_certificates(Path(folder)) if tls else None
        url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
        accounts = Accounts(_PEOPLE)
        # Flags win over the environment, so that a real store is never touched, nobody is sent
        # mail, and no real server's metrics give way to these.
        config = load_settings(
            data_dir=Path(folder),
            database_url=f"sqlite:///{folder}/teamvars.db",
            keyring=Path(folder) / "keyring.json",
            keyring_wrap="",
            database_pooler=Pooler.NONE,
            host="127.0.0.1",
            port=port,
            workers=1,
            tls_cert=authority and authority.with_name(_CERTIFICATE),
            tls_key=authority and authority.with_name(_KEY),
            public_url=url,
            issuers="",
            smtp_url="",
            metrics_listen="off",
            providers=json.dumps({"sample": _company(accounts.url)}),
            dialect=DialectName.TERRAFORM if tls else None,
        )
        if not tls:  # nor are real certificates
            config = config.model_copy(update={"tls_cert": None, "tls_key": None})
        address = claimed_address(config)
        (client,) = wiring.setup_of(config).clients
        accounts.start(client.redirect)
        applied, tokens = finish(_fill(config, accounts.url))
        text = _tour(url, applied, tokens, authority) + _job(config, applied)
        waiting = threading.Thread(
            target=_print_when_ready, args=(config, authority, text), daemon=True
        )
        waiting.start()
        listen(config, address, ends_at_hangup=ends_at_hangup)


def _company(issuer: str) -> dict[str, object]:
    """What an operator would say of the sample accounts."""
    return {
        "title": "the sample accounts",
        "issuer": issuer,
        "client_id": CLIENT,
        "organizations": ["acme"],
    }


async def _fill(config: Settings, issuer: str) -> tuple[Applied, dict[str, str]]:
    """Brings the sample data; returns the ids and alice's, bob's and erin's tokens. These three
    have accounts at the issuer.
    """
    await initialise(config, database_for(config.url, create=True))
    keys = wiring.keys_of(config)
    async with database_for(config.url) as database:
        services = wiring.services(database, keys, config.quota)
        (file := config.data_dir / "directory.yaml").write_text(_DIRECTORY)
        applied = await services.directory.apply(operator(), read(file), Options())
        tokens = {
            name: (await services.tokens.create(operator(), OwnerName(user=name), None)).secret
            for name in _PEOPLE
        }
        for name in _PEOPLE:
            await services.accounts.link(operator(), name, issuer, name)
        callers = {
            name: Caller(hash_token(token), operator().request_id) for name, token in tokens.items()
        }
        auditors = applied.organizations["acme"].teams["auditors"]
        invited = InvitationDraft(_INVITED, [auditors])
        await services.invitations.invite(callers["alice"], "acme", invited)
        await _fill_workspaces(services.variables, applied, callers)
        public_key = _enroll(config.data_dir, config.own_url)
        await _approve_machine(services, callers["alice"], applied, public_key)
    return applied, tokens


def _enroll(folder: Path, service: str) -> str:
    """Makes the key of a machine as `teamvars runner init` does, in a configuration folder of its
    own; returns its public part.
    """
    key = Ed25519PrivateKey.generate()
    machine = {"private_key": encoded(key.private_bytes_raw()), "addresses": [service]}
    path = folder / _MACHINE / "teamvars" / "machine.json"
    path.parent.mkdir(mode=0o700, parents=True)
    path.touch(0o600)
    path.write_text(json.dumps(machine))
    return encoded(key.public_key().public_bytes_raw())


async def _approve_machine(
    services: wiring.Services, owner: Caller, applied: Applied, public_key: str
) -> None:
    """A runner that the machine proves to be: proposed by an owner, approved by the operator."""
    draft = RunnerDraft(
        name="this-machine",
        description="The machine that the sample data is on",
        public_key=public_key,
        workspace_ids=(applied.organizations["acme"].workspaces["checkout"],),
        expires_at=wiring.clock() + DAY,
    )
    view = await services.runners.create(owner, "acme", draft)
    await services.approvals.approve(operator(), view.runner.id, view.digest)


async def _fill_workspaces(
    variables: Variables, applied: Applied, callers: Mapping[str, Caller]
) -> None:
    """Brings the variables, and what people have changed in them since."""
    workspaces, ids = applied.organizations["acme"].workspaces, {}
    for name, listed in yaml.safe_load(_VARIABLES).items():
        for one in listed:
            draft = VariableDraft(**{**one, "category": Category(one["category"])})
            made = await variables.create(callers["alice"], ToWorkspace(workspaces[name]), draft)
            ids[name, draft.key] = made.variable.id
    for who, name, draft in _CHANGES:
        place = ToWorkspace(workspaces[name]), ids[name, draft.key]
        await variables.update(callers[who], *place, draft, ANY_VERSION)


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


def _tour(url: str, applied: Applied, tokens: dict[str, str], authority: Path | None) -> str:
    """What `dev` prints: tokens, ids, and lines to paste.

    `authority` is the certificate to trust when the URL begins with https; then the terraform
    command line can be tried as well.
    """
    acme, users = applied.organizations["acme"], applied.users
    named = (*acme.workspaces.items(), *acme.teams.items(), *users.items())
    trust, terraform = "", ""
    if authority is not None:
        file = shlex.quote(str(authority))
        trust = f"export SSL_CERT_FILE={file} CURL_CA_BUNDLE={file}\n"
        terraform = _TERRAFORM.format(host=url.removeprefix("https://"), token=tokens["alice"])
    return _TOUR.format(
        url=url,
        tokens=tokens,
        ids="\n".join(f"    {name:<11} {id_}" for name, id_ in named),
        trust=trust,
        workspaces=acme.workspaces,
        teams=acme.teams,
        users=users,
        terraform=terraform,
    )


def _job(config: Settings, applied: Applied) -> str:
    """The last lines to paste: a job that is handed a value which nobody is shown."""
    server = wiring.keys_of(config).server
    assert server is not None  # of a new keyring
    return _JOB.format(
        program=_program(),
        machine=shlex.quote(str(config.data_dir / _MACHINE)),
        url=config.own_url,
        key=server_keys.text(server),
        workspace=applied.organizations["acme"].workspaces["checkout"],
    )


def _program() -> str:
    """What runs this program again, in the shell. A module of `python -m` runs by Python alone."""
    this = Path(sys.argv[0]).absolute()
    words = [str(this)] if os.access(this, os.X_OK) else [sys.executable, str(this)]
    return shlex.join(words)


_JOB = """
echo "== A job of an approved runner is handed a sensitive value, sealed to its own key"
XDG_CONFIG_HOME={machine} TEAMVARS_ADDRESS={url} TEAMVARS_WORKSPACE={workspace} \\
  TEAMVARS_SERVER_KEY={key} \\
  {program} run --only STRIPE_SECRET_KEY -- sh -c 'echo "$STRIPE_SECRET_KEY"'
"""

_TOUR = """
The console: {url}/app/ (sign in with the sample accounts, as alice, or with a token)

teamvars serves sample data at {url} until Ctrl-C; nothing of it is kept.

  Tokens
    alice, owner of acme          {tokens[alice]}
    bob, in platform              {tokens[bob]}
    erin, in auditors             {tokens[erin]}

  Ids
{ids}

  Paste these into another terminal:

{trust}export API={url}/api/v2 TOKEN={tokens[alice]}
export WORKSPACE={workspaces[network]} PAYMENTS={workspaces[payments]} TEAM={teams[platform]}
export DAVE={users[dave]} ERIN={users[erin]} CAROL={users[carol]}
api() {{ curl -s -H "Authorization: Bearer $TOKEN" \
  -H "Content-Type: application/vnd.api+json" "$@"; echo; }}

echo "== The variables of a workspace: the values of sensitive ones are null"
api $API/workspaces/$WORKSPACE/vars

echo "== A sensitive variable: written once, never shown"
api $API/workspaces/$WORKSPACE/vars -d '{{"data":{{"type":"vars","attributes":{{\
"key":"api_key","value":"topsecret","description":"","category":"env","sensitive":true}}}}}}'

echo "== Two users into a team at once, then one who has not accepted the invitation yet"
api -i $API/teams/$TEAM/relationships/users -d '{{"data":[\
{{"type":"users","id":"{users[dave]}"}},{{"type":"users","id":"{users[erin]}"}}]}}'
api -i $API/teams/$TEAM/relationships/users -d '{{"data":[\
{{"type":"users","id":"{users[carol]}"}}]}}'
{terraform}"""


_TERRAFORM = """
echo "== The terraform command line, in a workspace of ours"
cd "$(mktemp -d)"
cat > main.tf <<'END'
terraform {{
  cloud {{
    hostname     = "{host}"
    organization = "acme"
    token        = "{token}"
    workspaces {{ name = "network" }}
  }}
}}
variable "region" {{
  validation {{
    condition     = var.region == ""
    error_message = "region is ${{var.region}}."
  }}
}}
variable "subnets" {{
  validation {{
    condition     = length(var.subnets) == 0
    error_message = "subnets is ${{jsonencode(var.subnets)}}."
  }}
}}
variable "vpn_psk" {{
  validation {{
    condition     = var.vpn_psk == ""
    error_message = "vpn_psk is ${{var.vpn_psk}}."
  }}
}}
variable "availability_zones" {{}}
variable "peer_count" {{}}
resource "terraform_data" "any" {{}}
END
terraform init
echo "== It refuses each value it knows, to show it; that of vpn_psk stays unknown"
terraform import terraform_data.any 1
"""
