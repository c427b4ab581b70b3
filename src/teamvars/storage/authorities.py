"""The certificate authority that vouches for a PostgreSQL server, as its URL or libpq names it."""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from teamvars.storage.database import StorageMisconfigured

_DEFAULT = Path(".postgresql") / "root.crt"
_MAY_VERIFY = ("require", "verify-ca", "verify-full")


def require_authority(query: Mapping[str, str]) -> None:
    """Raises StorageMisconfigured when the URL's query asks for a certificate of which there is
    none: the driver would say no more than that a file was not found."""
    mode = query.get("sslmode") or os.environ.get("PGSSLMODE", "")
    named = query.get("sslrootcert") or os.environ.get("PGSSLROOTCERT")
    if mode not in _MAY_VERIFY or (mode == "require" and not named):
        return
    path = Path(named) if named else _home() / _DEFAULT
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except ssl.SSLError:
        fault = "is no certificate in PEM"
    except OSError as error:
        fault = error.strerror or type(error).__name__
    else:
        return
    raise StorageMisconfigured(
        f"sslmode={mode} needs the certificate of the authority that vouches for the server: "
        f"{path}: {fault}. Name its file in TEAMVARS_DATABASE_URL: sslrootcert=/path/to/ca.pem"
    )


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # of an account that has none
        return Path("~")
