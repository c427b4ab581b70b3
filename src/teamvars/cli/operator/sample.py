"""The sample data of `teamvars dev`: an organization as platform teams have it."""

from pathlib import Path

from teamvars.domain.directory import (
    Applied,
    Directory,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import Status
from teamvars.domain.teams import OWNERS, Visibility
from teamvars.domain.variables import VariableDraft
from teamvars.kernel.variables import Category

PEOPLE = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi")

DIRECTORY = Directory(
    users=tuple(UserEntry(name, f"{name}@example.com") for name in PEOPLE),
    organizations=(
        OrganizationEntry(
            name="acme",
            members={name: Status.INVITED if name == "carol" else Status.ACTIVE for name in PEOPLE},
            workspaces=("checkout", "network", "payments", "warehouse"),
            teams=(
                TeamEntry(OWNERS, members=("alice",)),
                TeamEntry(
                    "platform",
                    manage_membership=True,
                    members=("bob", "carol", "frank", "grace"),
                    workspaces={
                        "checkout": AccessType.WRITE,
                        "network": AccessType.WRITE,
                        "payments": AccessType.READ,
                    },
                ),
                TeamEntry(
                    "auditors", members=("erin", "heidi"), workspaces={"payments": AccessType.READ}
                ),
                TeamEntry(
                    "on-call",
                    Visibility.SECRET,
                    members=("bob", "grace"),
                    workspaces={"checkout": AccessType.WRITE},
                ),
            ),
        ),
    ),
)

_TOOL, _ENV = Category.TOOL, Category.ENV

VARIABLES = {
    "checkout": (
        VariableDraft("environment", "production", "", _TOOL),
        VariableDraft("domain", "shop.example.com", "What customers type", _TOOL),
        VariableDraft("replicas", "2", "", _TOOL, hcl=True),
        VariableDraft(
            "regions",
            '{\n  "eu-central-1" = { replicas = 3, primary = true }\n'
            '  "us-east-1"    = { replicas = 2, primary = false }\n}',
            "Where it runs, and how often",
            _TOOL,
            hcl=True,
        ),
        VariableDraft("feature_flags", '["express"]', "", _TOOL, hcl=True),
        VariableDraft("AWS_REGION", "eu-central-1", "For the provider", _ENV),
        VariableDraft("LOG_LEVEL", "debug", "", _ENV),
        VariableDraft("SENTRY_DSN", "https://k3y@errors.example.com/7", "", _ENV, sensitive=True),
        VariableDraft("STRIPE_SECRET_KEY", "sk_test_example", "Billing", _ENV, sensitive=True),
    ),
    "network": (
        VariableDraft("region", "eu-central-1", "Where everything runs", _TOOL),
        VariableDraft(
            "subnets",
            '{ public = "10.0.1.0/24", private = "10.0.2.0/24" }',
            "Subnets by name",
            _TOOL,
            hcl=True,
        ),
        VariableDraft("availability_zones", '["a", "b", "c"]', "Zones in use", _TOOL, hcl=True),
        VariableDraft("peer_count", "3", "How many peerings", _TOOL, hcl=True),
        VariableDraft("vpn_psk", "correct-horse-battery", "Of the VPN", _TOOL, sensitive=True),
        VariableDraft("AWS_REGION", "eu-central-1", "For the provider", _ENV),
        VariableDraft("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE", "For the provider", _ENV),
        VariableDraft("AWS_SECRET_ACCESS_KEY", "s3cr3t", "For the provider", _ENV, sensitive=True),
    ),
    "payments": (
        VariableDraft("environment", "production", "", _TOOL),
        VariableDraft("motd", "Grüße, 世界\nBe careful.", "Shown at login", _TOOL),
        VariableDraft("db_password", "hunter2", "Of the main database", _TOOL, sensitive=True),
        VariableDraft("LOG_LEVEL", "warning", "", _ENV),
    ),
}


CHANGES = (
    ("bob", "checkout", VariableDraft("replicas", "3")),
    ("bob", "checkout", VariableDraft("LOG_LEVEL", "info", "debug, info or warning")),
    ("alice", "checkout", VariableDraft("STRIPE_SECRET_KEY", "sk_test_another")),
    ("bob", "checkout", VariableDraft("feature_flags", '["express", "gift-cards"]')),
)
"""What people have changed since, by key: a workspace to look at has a past."""


INVITED = "ivan@example.com"
"""Whom alice has invited, into `auditors`."""


def tour(url: str, applied: Applied, tokens: dict[str, str], authority: Path | None = None) -> str:
    """What `dev` prints: tokens, ids, and lines to paste.

    `authority` is the certificate to trust when the URL begins with https; then the terraform
    command line can be tried as well.
    """
    acme = applied.organizations["acme"]
    network, payments = acme.workspaces["network"], acme.workspaces["payments"]
    platform = acme.teams["platform"]
    users = applied.users
    vars_url, members_url = (
        "$API/workspaces/$WORKSPACE/vars",
        "$API/teams/$TEAM/relationships/users",
    )
    named = (*acme.workspaces.items(), *acme.teams.items(), *users.items())
    ids = "\n".join(f"    {name:<11} {id_}" for name, id_ in named)
    linkage = '{{"type":"users","id":"{}"}}'.format
    two = ",".join(linkage(users[name]) for name in ("dave", "erin"))
    trust, terraform = "", ""
    if authority is not None:
        trust = f"export SSL_CERT_FILE={authority} CURL_CA_BUNDLE={authority}\n"
        terraform = _TERRAFORM.format(host=url.removeprefix("https://"), token=tokens["alice"])
    return f"""
The console: {url}/app/ (sign in with alice's token)

teamvars serves sample data at {url} until Ctrl-C; nothing of it is kept.

  Tokens
    alice, owner of acme          {tokens["alice"]}
    bob, in platform              {tokens["bob"]}
    erin, in auditors             {tokens["erin"]}

  Ids
{ids}

  Paste these into another terminal:

{trust}export API={url}/api/v2 TOKEN={tokens["alice"]}
export WORKSPACE={network} PAYMENTS={payments} TEAM={platform}
export DAVE={users["dave"]} ERIN={users["erin"]} CAROL={users["carol"]}
api() {{ curl -s -H "Authorization: Bearer $TOKEN" \
  -H "Content-Type: application/vnd.api+json" "$@"; echo; }}

echo "== The variables of a workspace: the values of sensitive ones are null"
api {vars_url}

echo "== A sensitive variable: written once, never shown"
api {vars_url} -d '{{"data":{{"type":"vars","attributes":{{"key":"api_key","value":"topsecret",\
"description":"","category":"env","sensitive":true}}}}}}'

echo "== Two users into a team at once, then one who has not accepted the invitation yet"
api -i {members_url} -d '{{"data":[{two}]}}'
api -i {members_url} -d '{{"data":[{linkage(users["carol"])}]}}'
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
