"""Mail: what messages there are, how one is written, and how it goes to the operator's server."""

import asyncio
import hashlib
import html
import re
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial
from urllib.parse import unquote, urlsplit

import aiosmtplib
from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPException,
    SMTPNotSupported,
    SMTPRecipientRefused,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from teamvars.domain.invitations import Letter
from teamvars.domain.names import fold
from teamvars.domain.notices import Memo
from teamvars.domain.times import moment
from teamvars.kernel import Discreet

# The longest lines there may be, so that the link is in one piece, whatever reads the text.
_POLICY = policy.SMTP.clone(max_line_length=998)
# What RFC 5321 calls a Dot-string, with the letters of every script (RFC 6531). Quoted local parts
# and literal addresses are no way to reach a colleague.
_LOCAL = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*")
_DOMAIN = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")

SEND_SECONDS = 30.0
"""How long one message may take, from the connection until the server has taken it."""
QUIT_SECONDS = 2.0
"""How long the server may take to say goodbye."""
_PERMANENT = 500


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


def compose_memo(memo: Memo, sender: str, public_url: str) -> EmailMessage:
    """The message that is a memo. What else is said under its id is another message. Raises
    Undeliverable.
    """
    message = _to(memo.address, sender, memo.subject, f"memo {memo.id} {memo.text}".encode())
    message.set_content(f"{memo.text}\n\n{public_url}{memo.page}\n")
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


class NotSent(Exception):
    """A message was not sent. `reason` and `reply` tell nothing of it, nor what the server said.

    `for_good`: another try would end alike. `reply` is the server's code, 0 where there is none.
    """

    def __init__(self, reason: str, reply: int = 0, *, for_good: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reply = reply
        self.for_good = for_good


class Server(Discreet, frozen=True):
    """Where mail goes, and how; the URL may hold a password.

    `smtp` begins with STARTTLS, `smtps` with TLS, and the certificate must be good. `insecure`:
    whatever certificate, and no TLS at all where the server offers none.
    """

    url: str
    sender: str
    public_url: str
    insecure: bool = False


class Mailer:
    """Sends letters and memos, each through a connection of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def send(self, letter: Letter) -> None:
        """Returns once the server has taken the message, or raises NotSent."""
        await self._deliver(letter.invited.address, partial(compose, letter))

    async def pass_on(self, memo: Memo) -> None:
        """As `send`."""
        await self._deliver(memo.address, partial(compose_memo, memo))

    async def _deliver(self, address: str, composed: Callable[[str, str], EmailMessage]) -> None:
        try:
            message = composed(self._server.sender, self._server.public_url)
            recipient = "@".join(reachable(address))
        except Undeliverable:
            raise NotSent("no mail can go to such an address", for_good=True) from None
        except ValueError:
            raise NotSent("no mail can say that", for_good=True) from None
        try:
            await self._send(message, recipient)
        except (SMTPException, OSError, ValueError) as error:  # TimeoutError is an OSError
            raise _not_sent(error) from None

    async def _send(self, message: EmailMessage, recipient: str) -> None:
        with closing(_connection(self._server)) as smtp:
            async with asyncio.timeout(SEND_SECONDS):
                await smtp.connect()
                sender = self._server.sender
                await smtp.send_message(message, sender=sender, recipients=[recipient])
            # The message is the server's now: how the two part is no reason to send it again.
            with suppress(SMTPException, OSError):
                await smtp.quit(timeout=QUIT_SECONDS)


def _connection(server: Server) -> SMTP:
    parts = urlsplit(server.url)
    use_tls = parts.scheme == "smtps"
    start_tls = None if server.insecure else True
    return aiosmtplib.SMTP(
        hostname=parts.hostname,
        port=parts.port or (465 if use_tls else 587),
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        timeout=SEND_SECONDS,
        use_tls=use_tls,
        start_tls=False if use_tls else start_tls,
        validate_certs=not server.insecure,
    )


def _not_sent(error: Exception) -> NotSent:
    """What an error comes to. Its text may quote the address, or what the server was told."""
    reason = type(error).__name__
    if isinstance(error, SMTPRecipientsRefused):
        error = error.recipients[0]
    if isinstance(error, SMTPNotSupported):  # of an address that only newer servers take
        return NotSent(reason, for_good=True)
    reply = error.code if isinstance(error, SMTPResponseException) else 0
    # A server that refuses the sender, the password or TLS may be set up better next time.
    of_message = isinstance(error, (SMTPRecipientRefused, SMTPDataError))
    return NotSent(reason, reply, for_good=of_message and reply >= _PERMANENT)
