"""The one frozen `Settings`, read once: flags, then `TEAMVARS_*`, then `teamvars.toml`."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import SplitResult, parse_qs, urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from teamvars.domain.diagnosis import Pooler
from teamvars.domain.federation import BUILDKITE, GITHUB, GITLAB
from teamvars.domain.invitations import MAX_A_DAY
from teamvars.domain.names import is_email
from teamvars.domain.runners import ApprovalMode
from teamvars.domain.variable_sets import MOST_SETS, SetLimits
from teamvars.domain.variables import MAX_WORKSPACE_VALUE_BYTES
from teamvars.domain.workspaces import Quota
from teamvars.logs import LogFormat, LogLevel
from teamvars.security.answers import LOOPBACK, is_guarded
from teamvars.security.wrapping import adapter

CONFIG_FILE = "teamvars.toml"
CACHE_MIB = 32
"""The default: some 2,900 lists of 20 variables, and a worker of 130 MiB once it is full."""
LEAST_RATE_LIMIT = 30
"""A second. A client that spreads its requests over time by the limit makes no use of one below."""
_PREFIX = "TEAMVARS_"
_MOST_PORT = 65535
_METRICS_OFF = "off"
_LISTEN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+):(\d{1,5})")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(:\d{1,5})?")
_TOLD = {"extra_forbidden": "there is no such setting"}
"""What is said of a fault, where Pydantic's words for it mean nothing to an operator."""


class SettingsError(Exception):
    """A setting is unknown or has no usable value; the text names it and never its value."""


class DialectName(StrEnum):
    """How the API is spoken: to the letter of the contract, or as HCP Terraform clients do."""

    STANDARD = "standard"
    TERRAFORM = "terraform"


class NamedIssuer(NamedTuple):
    """An issuer of tokens for jobs, by its exact `iss`, and the file that has its keys if it is not
    to be asked for them.
    """

    url: str
    keys: Path | None = None

    @classmethod
    def of(cls, text: str) -> "NamedIssuer":
        """The issuer of one part of the setting. Raises ValueError."""
        name, _, rest = text.partition(":")
        if text in _ISSUERS:
            return cls(_ISSUERS[text])
        if name == "circleci" and _CIRCLECI_ID.fullmatch(rest):
            return cls(f"https://oidc.circleci.com/org/{rest}")
        url, separator, file = text.partition("=")
        if _is_issuer_url(url) and bool(separator) == bool(file):
            return cls(url, Path(file) if file else None)
        known = ", ".join(_ISSUERS)
        raise ValueError(
            f"must be {known}, circleci:ORGANIZATION-ID, https://… or https://…=FILE, "
            "separated by commas"
        )

    def __str__(self) -> str:
        return self.url if self.keys is None else f"{self.url}={self.keys.absolute()}"


_ISSUERS = {"github": GITHUB, "gitlab": GITLAB, "buildkite": BUILDKITE}
_CIRCLECI_ID = re.compile(r"[0-9a-f-]{36}")


_DOMAIN = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


class NamedProvider(BaseModel):
    """A provider that people sign in with: a table of `teamvars.toml`, `[providers.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    title: str = Field(min_length=1, max_length=60)
    issuer: str
    client_id: str = Field(min_length=1)
    client_secret_file: Path | None = None
    organizations: tuple[str, ...] = Field(min_length=1)
    domains: tuple[str, ...] = ()
    token_days: int = Field(90, ge=1, le=366)

    @field_validator("issuer")
    @classmethod
    def _https(cls, value: str) -> str:
        if not (_is_issuer_url(value) or _is_here(value)):
            raise ValueError("must be https://… as the provider writes it, without a query")
        return value

    @field_validator("domains")
    @classmethod
    def _of_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(_DOMAIN.fullmatch, value)):
            raise ValueError("a domain is what an address has behind the @, such as example.com")
        return value

    def absolute(self) -> Self:
        """The same, wherever one is."""
        file = self.client_secret_file
        return (
            self
            if file is None
            else self.model_copy(update={"client_secret_file": file.absolute()})
        )


_PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Settings(BaseSettings):
    """What an operator can say (contract §7). The URLs of database and mail may hold a password."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, frozen=True, extra="forbid", toml_file=CONFIG_FILE
    )

    data_dir: Path = Path("teamvars-data")
    database_url: SecretStr | None = None
    database_pooler: Pooler | None = None
    keyring: Path | None = None
    keyring_wrap: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(8080, ge=1, le=_MOST_PORT)
    workers: int = Field(1, ge=1, le=256)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    dialect: DialectName = DialectName.STANDARD
    directory_api: bool = True
    console: bool = True
    log_format: LogFormat = LogFormat.AUTO
    log_level: LogLevel = LogLevel.INFO
    log_sample: float = Field(1, ge=0, le=1, allow_inf_nan=False)
    max_variables: int = Field(5000, ge=0)
    max_sets: int = Field(1000, ge=1, le=MOST_SETS)
    max_set_variables: int = Field(500, ge=1)
    workspace_sets: int = Field(100, ge=1)
    cache_mib: int = Field(CACHE_MIB, ge=1, le=4096)
    statement_seconds: float = Field(10, gt=0, allow_inf_nan=False)
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = ()
    audit_addresses: bool = True
    rate_limit: int = 0
    smtp_url: SecretStr | None = None
    smtp_insecure: bool = False
    mail_from: str | None = None
    public_url: str | None = None
    invitations_a_day: int = Field(MAX_A_DAY, ge=1)
    issuers: Annotated[tuple[NamedIssuer, ...], NoDecode] = ()
    runner_approval: ApprovalMode = ApprovalMode.OPERATOR
    allow_exec: bool = False
    metrics_listen: str = "127.0.0.1:9464"
    providers: Annotated[Mapping[str, NamedProvider], NoDecode] = {}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, environment, file; no `.env` is looked for."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @field_validator("*", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("must be UTF-8") from None
            if "\0" in value:
                raise ValueError("must not have a NUL character")
        return value

    @field_validator("data_dir", "keyring", "tls_cert", "tls_key", "host", mode="before")
    @classmethod
    def _said(cls, value: object) -> object:
        # A path that is empty would be the folder that the command runs in.
        if value == "":
            raise ValueError("must not be empty")
        return value

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _comma_list(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return tuple(ip_network(part.strip()) for part in value.split(",") if part.strip())
        except ValueError:
            raise ValueError("must be addresses or networks, separated by commas") from None

    @field_validator("issuers", mode="before")
    @classmethod
    def _named_issuers(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",") if part.strip()]
        return tuple(NamedIssuer.of(part) for part in parts)

    @field_validator("providers", mode="before")
    @classmethod
    def _providers_of_json(cls, value: object) -> object:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            raise ValueError("must be a JSON object; in teamvars.toml, tables") from None

    @field_validator("providers")
    @classmethod
    def _told_apart(cls, value: Mapping[str, NamedProvider]) -> Mapping[str, NamedProvider]:
        if not all(map(_PROVIDER_NAME.fullmatch, value)):
            raise ValueError("a provider is named with a-z, 0-9 and '-'")
        for what in ("issuer", "domains"):
            named = [one for provider in value.values() for one in _each(getattr(provider, what))]
            if len(set(named)) < len(named):
                raise ValueError(f"{what}: each belongs to one provider")
        return value

    @field_validator("keyring_wrap")
    @classmethod
    def _wrapping(cls, value: str | None) -> str | None:
        if value:
            adapter(value)  # which refuses what it does not know
        return value or None

    @field_validator("database_url")
    @classmethod
    def _url_of_an_engine(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _is_database_url(value.get_secret_value()):
            raise ValueError(
                "must begin with sqlite:/// or postgresql://, "
                "with special characters of a name or password written as %XX"
            )
        return value

    @field_validator("rate_limit")
    @classmethod
    def _enough_for_clients(cls, value: int) -> int:
        if value != 0 and value < LEAST_RATE_LIMIT:
            raise ValueError(
                f"must be 0, which is off, or at least {LEAST_RATE_LIMIT}: "
                "with less, clients such as HCP Terraform's stop working"
            )
        return value

    @field_validator("smtp_url")
    @classmethod
    def _url_of_mail(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not _is_smtp_url(value.get_secret_value()):  # an empty one: no mail
            raise ValueError(
                "must be smtp://user:password@host:port or smtps://…, "
                "with special characters of a name or password written as %XX"
            )
        return value

    @field_validator("mail_from")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not (value.isascii() and is_email(value)):
            raise ValueError("must be an e-mail address in ASCII, without a name")
        return value

    @field_validator("metrics_listen")
    @classmethod
    def _address_to_listen_on(cls, value: str) -> str:
        found = _LISTEN.fullmatch(value)
        if value != _METRICS_OFF and not (found and 0 < int(found[2]) <= _MOST_PORT):
            raise ValueError("must be HOST:PORT, as 127.0.0.1:9464, or off")
        return value

    @field_validator("public_url")
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        if value is not None and not _is_public_url(value):
            raise ValueError("must be https://host[:port], or http:// on loopback, with no path")
        return None if value is None else value.removesuffix("/")

    @model_validator(mode="after")
    def _whole_mail(self) -> "Settings":
        if self.smtp_url and (self.mail_from is None or self.public_url is None):
            raise ValueError("smtp_url needs mail_from and public_url")
        return self

    @model_validator(mode="after")
    def _whole_sign_in(self) -> "Settings":
        if self.providers and self.public_url is None:
            raise ValueError("providers need public_url")
        if self.providers and urlsplit(self.public_url or "").hostname not in LOOPBACK:
            for name, one in self.providers.items():
                if not _is_issuer_url(one.issuer):
                    text = f"providers.{name}: one without TLS is for a public_url of this machine"
                    raise ValueError(text)
        return self

    @model_validator(mode="after")
    def _both_of_tls(self) -> "Settings":
        if (self.tls_cert is None) is not (self.tls_key is None):
            raise ValueError("tls_cert and tls_key are given together or not at all")
        return self

    @model_validator(mode="after")
    def _one_pooler(self) -> "Settings":
        said, url = self.database_pooler, urlsplit(self.bare_url)
        if url.scheme == "sqlite" and said not in (None, Pooler.NONE):
            raise ValueError("database_pooler is for PostgreSQL")
        if said is not None and set(_poolers(url)) - {said}:
            raise ValueError("database_pooler is another than pooler= in database_url")
        return self

    @property
    def url(self) -> str:
        """The database's URL, with the pooler in between in its query; `teamvars.db` in the data
        directory unless another is set.
        """
        parts = urlsplit(self.bare_url)
        if self.database_pooler is None or parts.scheme == "sqlite" or _poolers(parts):
            return self.bare_url
        return f"{self.bare_url}{'&' if parts.query else '?'}pooler={self.database_pooler}"

    @property
    def bare_url(self) -> str:
        """The same, without what another setting says."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{(self.data_dir / 'teamvars.db').absolute()}"

    @property
    def service(self) -> str | None:
        """What audiences and resources of jobs begin with, without the port that is the scheme's
        own; None: no token is exchanged.
        """
        if self.public_url is None:
            return None
        url = self.public_url.lower()
        return url.removesuffix(":443" if url.startswith("https:") else ":80")

    @property
    def has_console(self) -> bool:
        """Whether there is one; without the API of the directory it would have nothing to show."""
        return self.console and self.directory_api

    @property
    def mail_host(self) -> str | None:
        """The host that mail goes to, without the rest of its URL; None where none is set up."""
        return urlsplit(self.smtp_url.get_secret_value()).hostname if self.smtp_url else None

    @property
    def own_url(self) -> str:
        """Where people find the service: as is set, else where it listens."""
        scheme = "http" if self.tls_cert is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"{scheme}://{host}:{self.port}"

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """The host and port where metrics are shown; None: nowhere."""
        host, _, port = self.metrics_listen.rpartition(":")
        return (host.strip("[]"), int(port)) if host else None

    @property
    def keyring_path(self) -> Path:
        """Where the keyring is."""
        return self.keyring or self.data_dir / "keyring.json"

    @property
    def quota(self) -> Quota:
        """What a workspace may hold."""
        if self.max_variables == 0:
            return Quota(None, None)
        return Quota(self.max_variables, MAX_WORKSPACE_VALUE_BYTES)

    @property
    def set_limits(self) -> SetLimits:
        """How many variable sets there may be, and what one may hold."""
        return SetLimits.of(self.max_sets, self.workspace_sets, self.max_set_variables)


def load(**flags: Any) -> Settings:
    """The settings; flags that are None were not given. Raises SettingsError."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        # Pydantic's own text quotes the value, which may be a password.
        faults = (
            f"{'.'.join(map(str, fault['loc']))}: "
            + _TOLD.get(fault["type"], fault["msg"].removeprefix("Value error, "))
            for fault in error.errors()
        )
        # What is wrong with several together has the name of none.
        told = "; ".join(fault.removeprefix(": ") for fault in faults)
        raise SettingsError(f"Wrong settings: {told}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{CONFIG_FILE} is not TOML: {error}") from None
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"{CONFIG_FILE} cannot be read.") from None
    except (ValueError, RecursionError):  # of what is TOML all the same
        text = f"{CONFIG_FILE} is nested too deeply, or has a number of too many digits."
        raise SettingsError(text) from None


def variables() -> set[str]:
    """The names of all environment variables that mean something."""
    return {_PREFIX + name.upper() for name in Settings.model_fields}


def export(settings: Settings) -> None:
    """Hands the settings on to worker processes, which read the environment again.

    What depends on this process, its folder and its stderr, is decided here.
    """
    decided = {
        "data_dir": settings.data_dir.absolute(),
        "database_url": settings.bare_url,
        "keyring": settings.keyring_path.absolute(),
        "log_format": settings.log_format.decided,
        "trusted_proxies": ",".join(map(str, settings.trusted_proxies)),
        "issuers": ",".join(map(str, settings.issuers)),
        "providers": json.dumps(
            {
                name: one.absolute().model_dump(mode="json")
                for name, one in settings.providers.items()
            }
        ),
    }
    for name in Settings.model_fields:
        value = decided.get(name, getattr(settings, name))
        if value is not None:
            text = value.get_secret_value() if isinstance(value, SecretStr) else value
            os.environ[_PREFIX + name.upper()] = str(text)


def _is_issuer_url(url: str) -> bool:
    """Whether it can be an issuer: https, and nothing that discovery would not find again."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and not parts.query + parts.fragment
    except ValueError:
        return False


def _is_here(url: str) -> bool:
    """Whether it can be an issuer on this machine, which needs no TLS."""
    return _is_issuer_url(url.replace("http:", "https:", 1)) and urlsplit(url).hostname in LOOPBACK


def _each(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str.lower, value))


def _is_database_url(url: str) -> bool:
    """Whether it is one that a driver will take apart as it was meant.

    A password with a bare '/', '?', '#' or '@' would be taken for a port or a name, and then shown.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme == "sqlite":
        return url.startswith("sqlite:///") and parts.path not in ("", "/")
    user, _, hosts = parts.netloc.rpartition("@")
    rest = parts.path + parts.query + parts.fragment
    return (
        parts.scheme in ("postgresql", "postgres")
        and "@" not in user + rest
        and "%00" not in url
        and set(_poolers(parts)) <= set(Pooler)
        and all(_HOST.fullmatch(host) for host in hosts.split(","))
    )


def _poolers(url: SplitResult) -> list[str]:
    """What the URL's own query says of a pooler in between."""
    return parse_qs(url.query).get("pooler", [])


def _is_smtp_url(url: str) -> bool:
    """Whether it says a host to send mail by, and nothing that would be left out silently."""
    parts = _parts(url)
    if parts is None:
        return False
    user, _, host = parts.netloc.rpartition("@")
    rest = parts.path.removeprefix("/") + parts.query + parts.fragment
    return (
        parts.scheme in ("smtp", "smtps")
        and bool(parts.hostname)
        and "@" not in user + rest
        and not rest
        and _HOST.fullmatch(host) is not None
    )


def _is_public_url(url: str) -> bool:
    parts = _parts(url)
    return (
        parts is not None
        and "@" not in parts.netloc
        and _HOST.fullmatch(parts.netloc) is not None
        and bool(parts.hostname)
        and parts.path in ("", "/")
        and not parts.query + parts.fragment
        and is_guarded(parts)
    )


def _parts(url: str) -> SplitResult | None:
    """The parts of a URL of visible ASCII; None for what is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if url.isascii() and url.isprintable() and " " not in url else None
