"""A certificate authority for one server on this machine, thrown away with it."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from teamvars.kernel import Discreet

_NAME = "localhost"
_LIFETIME = timedelta(days=30)
_CLOCK_TOLERANCE = timedelta(hours=1)
_V4, _V6 = "127.0.0.1", "::1"


class ThrowAwayCertificates(Discreet, frozen=True):
    """In PEM: the authority clients are told to trust, and a server's certificate and key."""

    authority: bytes
    certificate: bytes
    key: bytes


def throw_away() -> ThrowAwayCertificates:
    """Certificates for this machine alone.

    The authority's key is kept nowhere and may vouch for no other host, so that trusting it for
    longer than the server runs does no harm.
    """
    authority_key, key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    issuer = _name("teamvars throw-away authority")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    authority = (
        _certificate(issuer, issuer, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.NameConstraints(_this_machine(), None), critical=True)
        .sign(authority_key, SHA256())
    )
    names = x509.SubjectAlternativeName(
        [
            x509.DNSName(_NAME),
            x509.IPAddress(IPv4Address(_V4)),
            x509.IPAddress(IPv6Address(_V6)),
        ]
    )
    certificate = (
        _certificate(_name(_NAME), issuer, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        # Without it Python's clients, from 3.13 on, trust no certificate (RFC 5280, 4.2.1.1).
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, SHA256())
    )
    return ThrowAwayCertificates(
        authority.public_bytes(Encoding.PEM),
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _this_machine() -> list[x509.GeneralName]:
    return [
        x509.DNSName(_NAME),
        x509.IPAddress(IPv4Network(_V4)),
        x509.IPAddress(IPv6Network(_V6)),
    ]


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_TOLERANCE)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
