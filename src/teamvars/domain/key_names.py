"""Globs of keys; keys that say what they hold, and those by which programs run, load or trust what
the value says.

Whoever writes a variable of such a key decides what runs where it is read. No list of them is
complete: each program may have its own. These are the ones that the loader, shells, interpreters
and the tools of infrastructure document: ld.so(8) and glibc's list of what privileged programs
drop, sudoers(5) (`env_delete`), bash(1), zshparam(1), less(1), git(1), curl(1), make(1),
openssl-env(7), and the references of Python, Perl, Ruby, Node.js, the JVM, .NET, Go, Cargo, pip,
uv, npm, boto3, gcloud, kubectl, Docker, Ansible, Terraform and Terragrunt.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

_INNER = re.compile(r"[*?]")
_STARS = re.compile(r"\*+")


class Globs:
    """Several at once. A key costs one look at all that are whole keys, one at all beginnings
    (`X*`), one at each of the others, and one run of an expression made of those with a `?`: these
    alone have to be compiled.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        every = list(dict.fromkeys(globs))
        others = [glob for glob in every if wildcards_within([glob])]
        simple = [glob for glob in every if not wildcards_within([glob])]
        self._keys = frozenset(glob for glob in simple if not glob.endswith("*"))
        self._beginnings = tuple(glob[:-1] for glob in simple if glob.endswith("*"))
        self._pieces = [_STARS.split(glob) for glob in others if "?" not in glob]
        asking = [_expression(glob) for glob in others if "?" in glob]
        self._asking = re.compile("|".join(asking), re.DOTALL) if asking else None

    def match(self, key: str) -> bool:
        """Whether one of them means the key."""
        if key in self._keys or key.startswith(self._beginnings):
            return True
        if any(_fit(pieces, key) for pieces in self._pieces):
            return True
        return self._asking is not None and self._asking.fullmatch(key) is not None


def all_meant(glob: str, keys: Iterable[str]) -> list[str]:
    """Those of the keys that a glob with a `*` and no `?` means. Most of the others are told by its
    longest piece, which they lack.
    """
    pieces = _STARS.split(glob)
    longest = max(pieces, key=len)
    return [key for key in keys if longest in key and _fit(pieces, key)]


def wildcards_within(globs: Collection[str]) -> int:
    """How many `*` and `?` there are but for one `*` at the end of each: the cost of a key."""
    return sum(len(_INNER.findall(glob.removesuffix("*"))) for glob in globs)


def _fit(pieces: Sequence[str], key: str) -> bool:
    """Whether a key is these pieces with anything between them. Each is where it is first found
    behind those before it: elsewhere it would only leave less for the next ones.
    """
    first, *middle, last = pieces
    if not (key.startswith(first) and key.endswith(last)):
        return False
    at, end = len(first), len(key) - len(last)
    for piece in middle:
        found = key.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end


def _expression(glob: str) -> str:
    """What matches the same. A star takes as little as what follows it up to the next one allows,
    and never tries another place: the groups are atomic.
    """
    first, *rest = (".".join(map(re.escape, piece.split("?"))) for piece in _STARS.split(glob))
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in middle) + f".*{last}"


SECRET_NAMES = (
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*TOKEN*",
    "*PRIVATE_KEY*",
    "*CREDENTIAL*",
    "*API_KEY*",
)
"""In any case. Some have names like these and are no secrets, such as `TOKEN_TTL`."""

_LOADER = """
    LD_* DYLD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH NLSPATH
    RES_OPTIONS RESOLV_HOST_CONF TZDIR
"""
_SHELLS = """
    PATH HOME SHELL BASH_* BASHOPTS SHELLOPTS ENV IFS CDPATH PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND
    GLOBIGNORE FPATH ZDOTDIR NULLCMD READNULLCMD fish_* XDG_CONFIG_* XDG_DATA_* INPUTRC TERMINFO*
    TERMCAP TERMPATH
"""
_STARTED = """
    *EDITOR VISUAL *PAGER LESS LESSOPEN LESSCLOSE LESSKEY* LESSEDIT MORE BROWSER *ASKPASS*
    FCEDIT VIMINIT EXINIT VIMRUNTIME MYVIMRC EMACSLOADPATH PSQLRC TAR_OPTIONS RSYNC_RSH
    RSYNC_CONNECT_PROG CVS_RSH SVN_SSH HGRCPATH GIT_* GNUPGHOME RIPGREP_CONFIG_PATH MAKEFLAGS
    MAKEFILES GNUMAKEFLAGS CC CXX
"""
"""Programs that others start, and what tells those what to do."""

_INTERPRETERS = """
    PYTHON* PERL5* PERLLIB PERLIO_DEBUG RUBY* GEM_HOME GEM_PATH BUNDLE_* NODE_OPTIONS NODE_PATH
    NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED JAVA_TOOL_OPTIONS _JAVA_OPTIONS
    JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS DOTNET_STARTUP_HOOKS
    DOTNET_ADDITIONAL_DEPS CORECLR_* COR_PROFILER* COR_ENABLE_PROFILING LUA_* PHPRC
    PHP_INI_SCAN_DIR ERL_*FLAGS R_PROFILE* R_ENVIRON* GOENV GOFLAGS GOROOT GOPROXY GOSUMDB
    GONOSUMDB GONOSUMCHECK GOINSECURE GOTOOLCHAIN RUSTC* RUSTFLAGS CARGO_HOME CARGO_BUILD_*
    CARGO_TARGET_* PIP_* UV_* YARN_*
"""
_TRUST = """
    SSL_CERT_* *_CA_BUNDLE SSLKEYLOGFILE OPENSSL_* KRB5* CURL_HOME WGETRC AWS_ENDPOINT_URL*
    AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_DATA_PATH AWS_CONTAINER_CREDENTIALS_FULL_URI
    AWS_EC2_METADATA_SERVICE_ENDPOINT AZURE_AUTHORITY_HOST ARM_METADATA_HOST* CLOUDSDK_CONFIG
    CLOUDSDK_PYTHON* CLOUDSDK_API_ENDPOINT_OVERRIDES_* GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES
    KUBECONFIG KUBE_CONFIG_PATH* DOCKER_CONFIG DOCKER_HOST HELM_PLUGINS
"""
"""Whom programs believe, and where they send what they know."""

_TOOLS = """
    TF_CLI_CONFIG_FILE TERRAFORM_CONFIG TF_CLI_ARGS* TF_PLUGIN_* TF_DATA_DIR
    TF_REATTACH_PROVIDERS TF_REGISTRY_* TERRAGRUNT_* TG_TF_PATH TG_AUTH_PROVIDER_CMD ANSIBLE_*
    TEAMVARS_*
"""
_STEERING = Globs(f"{_LOADER}{_SHELLS}{_STARTED}{_INTERPRETERS}{_TRUST}{_TOOLS}".split())
_IN_ANY_CASE = Globs(
    (
        *("npm_config_*", "http_proxy", "https_proxy", "ftp_proxy", "rsync_proxy", "socks_proxy"),
        *("grpc_proxy", "all_proxy", "no_proxy"),
    )
)
"""What programs read in small letters and in capitals."""


def is_steering(name: str) -> bool:
    """Whether some program is known to do what a variable of that name says."""
    return _STEERING.match(name) or _IN_ANY_CASE.match(name.lower())


def says_secret(key: str) -> bool:
    """Whether a key says that its value is a secret."""
    name = key.upper()
    return any(fnmatchcase(name, pattern) for pattern in SECRET_NAMES)
