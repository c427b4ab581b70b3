"""What goes with every HTML page: nothing of others is loaded, and nobody is told where it was."""

import base64
import hashlib


def page_headers(*, style: str, script: str | None = None) -> dict[str, str]:
    """The headers of a page with that text in its one `style` element, and in its one `script`.

    No other style or script runs, even if it came into the page; a script speaks to us alone.
    """
    policy = f"default-src 'none'; style-src '{_digest(style)}'; "
    if script is not None:
        policy += f"script-src '{_digest(script)}'; connect-src 'self'; "
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": (
            f"{policy}base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
