"""Names that say what they hold."""

import pytest

from teamvars.domain.secret_names import says_secret


@pytest.mark.parametrize(
    "key",
    [
        "SECRET",
        "client_secret",
        "DB_PASSWORD",
        "dbPasswd",
        "GITHUB_TOKEN",
        "TOKEN_TTL",
        "tls_private_key_pem",
        "GOOGLE_CREDENTIALS",
        "api_key",
        "X_API_KEY_2",
    ],
)
def test_a_name_that_says_a_secret_is_known_in_any_case(key: str) -> None:
    assert says_secret(key)


@pytest.mark.parametrize("key", ["REGION", "PASSPORT", "KEY", "API", "PRIVATE", "tok", "apikey"])
def test_any_other_name_says_nothing(key: str) -> None:
    assert not says_secret(key)
