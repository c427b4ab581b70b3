"""A real SMTP server on loopback, with a mailbox for everybody and moods of its own."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from teamvars.mail import Server
from tests.support.patience import HANGS

SENDER, PUBLIC_URL = "vars@example.com", "http://127.0.0.1:8080"
USER, PASSWORD = "postman", "p@ss/word"
_LINK = re.compile(r"(http\S+/invitations)#(tvi_[0-9A-Za-z]{49})")


@dataclass
class Mailbox:
    """What came, and what the server says to each command from now on, if not 250; to `RCPT` also
    of one address.
    """

    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    options: list[list[str]] = field(default_factory=list)
    says: dict[str, str] = field(default_factory=dict)
    silence: float = 0.0
    """How long it takes before it says anything to a message."""
    parting: float = 0.0
    """How long it takes before it says goodbye."""
    met: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """Released by each message that comes while it is held."""
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _flows: asyncio.Event = field(default_factory=asyncio.Event)
    _holds: bool = False
    on_message: Callable[[], object] = lambda: None
    """Called once a message is taken, before that is said."""

    def server(self, **options: Any) -> Server:
        """How a node is told of it; without TLS."""
        url = f"smtp://127.0.0.1:{self.port}"
        return Server(**{"url": url, "sender": SENDER, "public_url": PUBLIC_URL, **options})

    async def next(self, number: int = 1) -> EmailMessage:
        """That message, the first being 1, once it has come."""
        async with asyncio.timeout(HANGS):
            while len(self.messages) < number:
                self._came.clear()
                await self._came.wait()
        return self.messages[number - 1]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile it says nothing to a message."""
        self._holds = True
        self._flows.clear()
        try:
            yield
        finally:
            self._holds = False
            self._flows.set()

    async def handle_RCPT(  # noqa: N802 - the server's own name
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        for said in (f"RCPT {address}", "RCPT"):
            if said in self.says:
                return self.says[said]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_QUIT(self, *_: Any) -> str:  # noqa: N802 - the server's own name
        await asyncio.sleep(self.parting)
        return "221 Bye"

    async def handle_DATA(  # noqa: N802 - the server's own name
        self, _: SMTP, __: Session, envelope: Envelope
    ) -> str:
        await asyncio.sleep(self.silence)
        if self._holds:
            self.met.release()
            await self._flows.wait()
        if "DATA" in self.says:
            return self.says["DATA"]
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=policy.SMTP)
        assert isinstance(message, EmailMessage)
        self.recipients += [str(one) for one in envelope.rcpt_tos]
        self.options.append([str(one) for one in envelope.mail_options])
        self.messages.append(message)
        self._came.set()
        self.on_message()
        return "250 OK"


@asynccontextmanager
async def open_mailbox(**options: Any) -> AsyncIterator[Mailbox]:
    """The server, in the loop of the test; options are those of aiosmtpd."""
    mailbox, loop = Mailbox(), asyncio.get_running_loop()
    tls: ssl.SSLContext | None = options.pop("tls", None)
    serving = await loop.create_server(
        lambda: SMTP(mailbox, enable_SMTPUTF8=True, loop=loop, **options),
        "127.0.0.1",
        0,
        ssl=tls,
    )
    mailbox.port = serving.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        serving.close()


def authenticate(*arguments: Any) -> AuthResult:
    """The authenticator that knows `USER` alone."""
    said = arguments[-1]
    known = LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=said == known, handled=False)


def plain_text(message: EmailMessage) -> str:
    """The part for those who read text."""
    part = message.get_body(("plain",))
    assert part is not None
    text: str = part.get_content()
    return text


def secret_in(message: EmailMessage) -> str:
    """The secret of the link that a message carries."""
    found = _LINK.search(plain_text(message))
    assert found is not None
    return found[2]
