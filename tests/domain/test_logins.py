"""What a program beside a browser may ask for, and what is told of what it may not."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.errors import Code, Fault
from teamvars.domain.logins import LONGEST, LoginDraft

ASKED = LoginDraft(
    host="laptop",
    redirect_uri="http://127.0.0.1:8080/callback",
    code_challenge="c" * 43,
    state="s" * 22,
)
NO_TEXT = Fault(Code.INVALID_VALUE, "is no text", pointer="/data/attributes/host")


@pytest.mark.parametrize(
    ("said", "faults"),
    [
        ({}, []),
        ({"expires_in": 1}, []),
        ({"expires_in": LONGEST}, []),
        ({"expires_in": LONGEST + 1}, [("invalid_value", "expires-in")]),
        ({"expires_in": 0}, [("invalid_value", "expires-in")]),
        ({"host": "a b"}, [("invalid_value", "host")]),
        ({"host": None}, [("missing_member", "host")]),
        ({"host": None, "faults": (NO_TEXT,)}, [("invalid_value", "host")]),
        ({"redirect_uri": "http://localhost:1/callback"}, [("invalid_value", "redirect-uri")]),
        ({"redirect_uri": None}, [("missing_member", "redirect-uri")]),
        ({"code_challenge": "c" * 42}, [("invalid_value", "code-challenge")]),
        ({"state": "s" * 21}, [("invalid_value", "state")]),
        ({"state": None}, [("missing_member", "state")]),
        ({"host": None, "user_code": "BCDFG"}, []),
        ({"user_code": "BCDFG", "faults": (NO_TEXT,)}, [("invalid_value", "host")]),
    ],
)
def test_each_member_has_a_rule_where_no_code_is_typed(
    said: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    found = replace(ASKED, **said).all_faults()
    assert [(one.code.word, (one.pointer or "").rpartition("/")[2]) for one in found] == faults
