"""Sending messages through the operator's SMTP server, and telling what a failure means."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
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
from teamvars.domain.notices import Memo, Notice
from teamvars.kernel import Discreet
from teamvars.mail.messages import (
    Undeliverable,
    compose,
    compose_memo,
    compose_notice,
    reachable,
)

SEND_SECONDS = 30.0
"""How long one message may take, from the connection until the server has taken it."""
QUIT_SECONDS = 2.0
"""How long the server may take to say goodbye."""
_PERMANENT = 500


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
    """Sends letters, notices and memos, each through a connection of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def send(self, letter: Letter) -> None:
        """Returns once the server has taken the message, or raises NotSent."""
        await self._deliver(letter.invited.address, partial(compose, letter))

    async def tell(self, notice: Notice) -> None:
        """As `send`."""
        await self._deliver(notice.address, partial(compose_notice, notice))

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
        smtp = _connection(self._server)
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await smtp.connect()
                sender = self._server.sender
                await smtp.send_message(message, sender=sender, recipients=[recipient])
            # The message is the server's now: how the two part is no reason to send it again.
            with suppress(SMTPException, OSError):
                await smtp.quit(timeout=QUIT_SECONDS)
        finally:
            smtp.close()


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
