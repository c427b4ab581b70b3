"""The messages there are: links of invitations, what owners are told of a runner, and memos."""

import hashlib
import html
import re
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import quote

from teamvars.domain.invitations import Letter
from teamvars.domain.names import fold
from teamvars.domain.notices import Memo, Notice
from teamvars.domain.times import moment

# The longest lines there may be, so that the link is in one piece, whatever reads the text.
_POLICY = SMTP.clone(max_line_length=998)
# What RFC 5321 calls a Dot-string, with the letters of every script (RFC 6531). Quoted local parts
# and literal addresses are no way to reach a colleague.
_LOCAL = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*")
_DOMAIN = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")

_UNWANTED = (
    "If no owner wanted that, delete the runner, look at the organization's audit trail, and "
    "revoke the tokens of who did it."
)


class Undeliverable(Exception):
    """No mail can go to the address, whichever server is asked."""


def compose(letter: Letter, sender: str, public_url: str) -> EmailMessage:
    """The message. The same letter has the same Message-ID, so that a mailbox can tell a second
    copy. Raises Undeliverable.
    """
    subject = f"Invitation to {letter.invited.organization}"
    message = _to(letter.invited.address, sender, subject, b"message of " + letter.link_hash)
    link = link_of(public_url, letter.secret)
    asks = f"Open this link to see it and to accept:\n\n{link}"
    message.set_content(f"{_sentence(letter)}\n\n{asks}\n\n{_note(letter)}\n")
    message.add_alternative(_html(letter, link), subtype="html")
    return message


def compose_notice(notice: Notice, sender: str, public_url: str) -> EmailMessage:
    """The message that tells an owner of a runner, in plain text. Raises Undeliverable."""
    subject = f"Runner {notice.runner} of {notice.organization}: {notice.status}"
    message = _to(notice.address, sender, subject, b"notice of " + repr(notice).encode())
    page = f"{public_url}/app/{quote(notice.organization)}/runners"
    message.set_content(f"{notice.sentence()}\n\n{page}\n\n{_UNWANTED}\n")
    return message


def compose_memo(memo: Memo, sender: str, public_url: str) -> EmailMessage:
    """The message that is a memo. Raises Undeliverable."""
    message = _to(memo.address, sender, memo.subject, b"memo " + memo.id.encode())
    message.set_content(f"{memo.text}\n\n{public_url}\n")
    return message


def _to(address: str, sender: str, subject: str, named: bytes) -> EmailMessage:
    """A message without content. What bears the same name has the same Message-ID."""
    user, domain = reachable(address)
    message = EmailMessage(policy=_POLICY)
    message["Subject"] = subject
    message["From"] = Address(addr_spec=sender)
    message["To"] = Address(username=user, domain=domain)
    message["Date"] = format_datetime(datetime.now(UTC))
    name = hashlib.sha256(named).hexdigest()[:32]
    message["Message-ID"] = f"<{name}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    return message


def link_of(public_url: str, secret: str) -> str:
    """The link. What follows `#` stays in the browser: no server or proxy logs it."""
    return f"{public_url}/invitations#{secret}"


def reachable(address: str) -> tuple[str, str]:
    """The local part and the domain, in ASCII. Raises Undeliverable."""
    user, _, domain = address.rpartition("@")
    try:
        ascii_domain = domain.encode("idna").decode()
        # Domains with `ß` or with full-width letters come back as others, whose owners are others.
        is_same = domain.isascii() or ascii_domain.encode().decode("idna") == domain.lower()
    except UnicodeError:
        raise Undeliverable from None
    if not is_same or _LOCAL.fullmatch(user) is None or _DOMAIN.fullmatch(ascii_domain) is None:
        raise Undeliverable
    return user, ascii_domain


def counted_as(address: str) -> str:
    """What the bounds of a day count an address as: one domain has one form there."""
    try:
        return fold("@".join(reachable(address)))
    except Undeliverable:
        return fold(address)


def _html(letter: Letter, link: str) -> str:
    sentence, note = html.escape(_sentence(letter)), html.escape(_note(letter))
    return (
        '<!doctype html>\n<html lang="en"><body>\n'
        f"<p>{sentence}</p>\n"
        f'<p><a href="{html.escape(link)}">See it and accept</a></p>\n'
        f"<p>{note}</p>\n</body></html>\n"
    )


def _sentence(letter: Letter) -> str:
    invited = letter.invited
    if invited.inviter is None:
        return f"You are invited to the organization {invited.organization}."
    return f"{invited.inviter} invites you to the organization {invited.organization}."


def _note(letter: Letter) -> str:
    until = moment(letter.invited.expires_at)
    day = "" if until is None else f" until {until:%Y-%m-%d %H:%M} UTC"
    return (
        f"It is good for one use{day}. Whoever has it can accept in your place, so do not forward "
        "it. If you did not expect this message, do nothing: nobody is added before they accept."
    )
