"""The one frozen `Settings`, read once: flags, then `TEAMVARS_*`, then `teamvars.toml`."""

import os
import tomllib
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from teamvars.domain.variables import MAX_WORKSPACE_VALUE_BYTES
from teamvars.domain.workspaces import Quota
from teamvars.logs import LogFormat

CONFIG_FILE = "teamvars.toml"
_PREFIX = "TEAMVARS_"


class SettingsError(Exception):
    """A setting is unknown or has no usable value; the text names it and never its value."""


class Settings(BaseSettings):
    """What an operator can say (contract §7). The database URL may hold a password."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, frozen=True, extra="forbid", toml_file=CONFIG_FILE
    )

    data_dir: Path = Path("teamvars-data")
    database_url: SecretStr | None = None
    keyring: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=256)
    log_format: LogFormat = LogFormat.CONSOLE
    max_variables: int = Field(5000, ge=0)
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = ()

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

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _comma_list(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(ip_network(part.strip()) for part in value.split(",") if part.strip())

    @property
    def url(self) -> str:
        """The database's URL; `teamvars.db` in the data directory unless another is set."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{(self.data_dir / 'teamvars.db').absolute()}"

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


def load(**flags: Any) -> Settings:
    """The settings; flags that are None were not given. Raises SettingsError."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        # Pydantic's own text quotes the value, which may be a password.
        faults = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise SettingsError("Wrong settings: " + "; ".join(faults)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{CONFIG_FILE} is not TOML: {error}") from None


def export(settings: Settings) -> None:
    """Hands flags on to worker processes, which read the environment again."""
    values = {
        "DATA_DIR": settings.data_dir.absolute(),
        "DATABASE_URL": settings.url,
        "KEYRING": settings.keyring_path.absolute(),
        "LOG_FORMAT": settings.log_format.value,
        "MAX_VARIABLES": settings.max_variables,
        "TRUSTED_PROXIES": ",".join(map(str, settings.trusted_proxies)),
    }
    os.environ.update({_PREFIX + name: str(value) for name, value in values.items()})
