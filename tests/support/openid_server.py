"""`python -W ignore -m tests.support.openid_server CHAIN KEY`: an OpenID provider behind TLS, which
prints its address and serves until its standard input ends.

A process of its own: what it imports warns of itself.
"""

import os
import sys
import threading

import oidc_provider_mock
from werkzeug.serving import make_server

if __name__ == "__main__":
    app, files = oidc_provider_mock.app(), (sys.argv[1], sys.argv[2])
    server = make_server("localhost", 0, app, threaded=True, ssl_context=files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"https://localhost:{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)
