"""`python -W ignore -m tests.support.canaille_server CHAIN KEY REDIRECT`: Canaille, an OpenID
provider that people run, behind TLS. It knows one client, which has people sent back to REDIRECT,
and alice, who is signed in there. It prints its address and serves until its standard input ends.

A process of its own: what it imports warns of itself, and has its state in modules.
"""

import datetime
import os
import sys
import threading

from canaille import create_app
from canaille.app import models
from canaille.app.session import UserSession
from canaille.backends import Backend
from flask import Flask, g
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT, SECRET, WHO = "teamvars", "secret-of-the-client", "alice"


def settings(address: str) -> dict[str, object]:
    """With everything in memory, and nobody who is asked for consent."""
    key = RSAKey.generate_key(2048, auto_kid=True)
    quiet = {"version": 1, "disable_existing_loggers": True}
    return {
        "TESTING": True,
        "ENV_FILE": None,
        "SECRET_KEY": "of the sessions there",
        "WTF_CSRF_ENABLED": False,
        "PREFERRED_URL_SCHEME": "https",
        "SERVER_NAME": address,
        "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False, "LOGGING": quiet},
        "CANAILLE_OIDC": {
            "ACTIVE_JWKS": [key.as_dict(private=True)],
            "TRUSTED_DOMAINS": ["vars.test"],
        },
    }


def fill(redirect: str) -> None:
    """Makes the client and alice."""
    user = models.User(
        user_name=WHO,
        formatted_name="Alice Doe",
        family_name="Doe",
        emails=["alice@example.com"],
    )
    Backend.instance.save(user)
    client = models.Client(
        client_id=CLIENT,
        client_secret=SECRET,
        client_id_issued_at=datetime.datetime.now(datetime.UTC),
        client_name="teamvars",
        client_uri="https://vars.test",
        redirect_uris=[redirect],
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid", "email", "profile"],
        token_endpoint_auth_method="client_secret_basic",
        id_token_signed_response_alg="RS256",
    )
    Backend.instance.save(client)
    Backend.instance.update(client, audience=[client])
    Backend.instance.save(client)


def sign_in() -> None:
    """Whoever comes is alice."""
    user = Backend.instance.get(models.User, user_name=WHO)
    g.session = UserSession(user=user, last_login_datetime=datetime.datetime.now(datetime.UTC))


if __name__ == "__main__":
    chain, private, redirect = sys.argv[1:]
    # Its port is a part of its settings.
    server = make_server(
        "localhost", 0, Flask("none yet"), threaded=True, ssl_context=(chain, private)
    )
    app = create_app(config=settings(f"localhost:{server.server_port}"))
    with app.app_context():
        fill(redirect)
    app.before_request(sign_in)
    server.app = app
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"https://localhost:{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)
