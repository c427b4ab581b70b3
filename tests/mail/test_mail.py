"""What a message says, and that no name or address can make it say anything else."""

import html
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.invitations import Invited, Letter
from teamvars.domain.names import is_email
from teamvars.domain.users import User
from teamvars.mail import Undeliverable, compose, reachable

SENDER, PUBLIC_URL = "vars@example.com", "https://vars.example.com"
SECRET = "tvi_" + "a" * 49
HEADERS = sorted(
    [
        "Subject",
        "From",
        "To",
        "Date",
        "Message-ID",
        "Auto-Submitted",
        "MIME-Version",
        "Content-Type",
    ]
)
NASTY = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from('\r\n\0\t:,;<>()[]"\\@ \u2028\u202e\x85é漢'),
    ),
    min_size=1,
    max_size=40,
)


def letter(address: str = "carol@example.com", inviter: str | None = "alice") -> Letter:
    user = User("user-1", "carol", address, site_admin=False, placeholder=True)
    invited = Invited("ou-1", "org-1", "acme", inviter, address, user, 1_800_000_000_000_000)
    return Letter(invited, SECRET, b"hash")


def sent(message: EmailMessage) -> EmailMessage:
    """The message as whoever receives it reads it."""
    read = message_from_bytes(message.as_bytes(policy=policy.SMTPUTF8), policy=policy.SMTPUTF8)
    assert isinstance(read, EmailMessage)
    return read


def parts(message: EmailMessage) -> tuple[str, str]:
    plain, page = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert page is not None
    return plain.get_content(), page.get_content()


def test_it_says_who_invites_whom_where_and_carries_the_link_in_both_parts() -> None:
    message = sent(compose(letter(), SENDER, PUBLIC_URL))
    assert sorted(message.keys()) == HEADERS
    link = f"{PUBLIC_URL}/invitations#{SECRET}"
    for part in parts(message):
        assert "alice invites you to the organization acme." in part
        assert "2027-01-15 08:00 UTC" in part
        assert link in part
    assert sent(compose(letter(), SENDER, PUBLIC_URL))["Message-ID"] == message["Message-ID"]


def test_nothing_in_it_is_fetched_or_told_to_anybody() -> None:
    _, page = parts(compose(letter(), SENDER, PUBLIC_URL))
    assert page.count("http") == 1
    for word in ("<img", "<link", "<script", "<style", "src=", "url("):
        assert word not in page


@given(st.one_of(NASTY, st.builds("{}@{}".format, NASTY, NASTY)))
def test_no_address_makes_a_header_or_another_recipient(address: str) -> None:
    if not is_email(address):  # nobody is invited by what is none
        return
    try:
        message = sent(compose(letter(address), SENDER, PUBLIC_URL))
    except Undeliverable:
        return
    assert sorted(message.keys()) == HEADERS
    (to,) = message["To"].addresses
    username = to.username.encode(errors="surrogateescape").decode()
    assert (username, to.domain) == reachable(address)


@given(NASTY)
def test_no_name_makes_a_header_or_a_tag(name: str) -> None:
    """Names have no such characters: this is the second line of defence."""
    composed = compose(letter(inviter=name), SENDER, PUBLIC_URL)
    assert sorted(composed.keys()) == HEADERS
    _, page = parts(composed)
    assert html.escape(name) in page or not name.isprintable()
    assert page.count("<") == 13


@pytest.mark.parametrize(
    "address",
    [
        *("a b@example.com", "a,b@example.com", "a@b@example.com", "<a@example.com"),
        *('"a"@example.com', ".a@example.com", "a..b@example.com", "a@", "@example.com"),
        *("a@exa mple.com", "a@b..c", "a@[127.0.0.1]", "a@example.com>", "a(b)@example.com"),
        *("a\r\nBcc: b@example.com", "a@b\nc", "a@example.com\n"),
        # What IDNA (RFC 3490) makes another domain of.
        *(
            "a@straße.de",
            "a@βόλος.example",
            "a@\uff45x.com",
            "a@exa\u034fmple.com",
            "a@b。com",
        ),
    ],
)
def test_what_is_no_plain_address_is_sent_nothing(address: str) -> None:
    with pytest.raises(Undeliverable):
        compose(letter(address), SENDER, PUBLIC_URL)
