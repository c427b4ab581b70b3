"""`/invitations`: the page behind every link. It is the same for all: the secret is in the part of
the URL that browsers keep to themselves, and only the script sends it, in a body.

Whatever the script shows is set as text, and nothing happens before somebody presses the button.
"""

from importlib import resources

from teamvars.web.http import pages

PATH = "/invitations"

_FOLDER = resources.files("teamvars.web.invitations")
_STYLE = _FOLDER.joinpath("page.css").read_text(encoding="utf-8")
_SCRIPT = _FOLDER.joinpath("page.js").read_text(encoding="utf-8")

_CONTENT = """<main>
<h1>Invitation</h1>
<noscript><p>This page needs JavaScript: the link's secret is for the script alone.</p></noscript>
<p id="message" role="status">One moment…</p>
<button id="accept" type="button" hidden>Accept the invitation</button>
<section id="token" hidden>
<h2>Your token</h2>
<p>It is shown only now. Keep it like a password.</p>
<code id="secret" tabindex="0"></code>
<button id="copy" type="button">Copy</button>
<p>Every request carries it: <code>Authorization: Bearer TOKEN</code>.</p>
</section>
</main>"""

PAGE = pages.page("Invitation", _CONTENT, style=_STYLE, script=_SCRIPT)
