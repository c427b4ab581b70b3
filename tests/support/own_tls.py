"""TLS for a server of a test's own, which only an authority of its own vouches for."""

import ssl
from pathlib import Path
from tempfile import mkdtemp

from teamvars.security.certificates import throw_away


def own_tls(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """What such a server has, and the authority's certificate: it is for `localhost`, and kept in
    a folder of its own in that one.
    """
    made, own = throw_away(), Path(mkdtemp(dir=folder))
    authority, pair = own / "ca.pem", own / "server.pem"
    authority.write_bytes(made.authority)
    pair.write_bytes(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return context, authority
