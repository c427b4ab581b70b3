"""The throw-away authority: it vouches for this machine and for nothing else."""

import ssl
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

from cryptography import x509

from teamvars.security.certificates import throw_away
from tests.support.own_tls import own_tls


def test_the_authority_has_signed_the_servers_certificate_for_every_name_of_this_machine() -> None:
    made = throw_away()
    authority = x509.load_pem_x509_certificate(made.authority)
    certificate = x509.load_pem_x509_certificate(made.certificate)
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_the_authority_can_vouch_for_no_other_host_and_for_no_other_authority() -> None:
    authority = x509.load_pem_x509_certificate(throw_away().authority)
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical
    permitted = [name.value for name in constraints.value.permitted_subtrees or []]
    assert permitted == ["localhost", ip_network("127.0.0.1/32"), ip_network("::1/128")]
    basic = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.value.ca, basic.value.path_length) == (True, 0)


def test_certificates_are_of_use_for_weeks_only_and_each_is_another() -> None:
    first, second = throw_away(), throw_away()
    assert first.key != second.key
    certificate = x509.load_pem_x509_certificate(first.certificate)
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lifetime < timedelta(days=60)


def test_the_key_is_not_shown() -> None:
    made = throw_away()
    assert made.key.decode() not in repr(made)
    assert "PRIVATE" not in repr(made)


def test_openssl_accepts_the_authority_as_one() -> None:
    trust = ssl.create_default_context(cadata=throw_away().authority.decode())
    assert trust.cert_store_stats()["x509_ca"] >= 1


def test_the_strictest_clients_trust_the_server(tmp_path: Path) -> None:
    serving, authority = own_tls(tmp_path)
    trust = ssl.create_default_context(cafile=str(authority))
    trust.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python has it from 3.13 on
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(to_client, to_server, server_hostname="localhost")
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    for end in (client, server, client):  # each says what it can until it has to listen
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    assert client.getpeercert()
