"""What a set may be called and belong to, and where its keys are its own."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.variable_sets import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_NAME_CHARACTERS,
    SetDraft,
    VariableSet,
    is_set_name,
)

SET = VariableSet("varset-1", "shared", "org-1", "acme")
OF_PROJECT = replace(SET, project_id="prj-1")


def test_all_global_sets_of_an_organization_are_one_in_which_no_key_is_twice() -> None:
    assert SET.scope == "varset-1"
    assert replace(SET, is_global=True).scope == "org-1"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("a", True),
        ("a b", True),
        ("x" * MAX_NAME_CHARACTERS, True),
        ("x" * (MAX_NAME_CHARACTERS + 1), False),
        ("", False),
        (" a", False),
        ("a ", False),
        ("a\nb", False),
        ("a\u202eb", False),
    ],
)
def test_a_name_is_one_line_without_space_at_its_ends(name: str, is_one: bool) -> None:
    assert is_set_name(name) is is_one


def test_a_description_has_an_end() -> None:
    longest = "x" * MAX_DESCRIPTION_CHARACTERS
    assert SetDraft(description=longest).all_faults() == []
    (fault,) = SetDraft(description=longest + "x").all_faults()
    assert fault.pointer == "/data/attributes/description"


PARENT, ID, GLOBAL = "/data/relationships/parent/data/id", "/data/id", "/data/attributes/global"


@pytest.mark.parametrize(
    ("one", "said", "at"),
    [
        (SET, {}, []),
        (SET, {"id": "varset-1", "parent": "ACME"}, []),
        (SET, {"id": "varset-2"}, [ID]),
        (SET, {"parent": "other"}, [PARENT]),
        (SET, {"project_id": "prj-1"}, [PARENT]),
        (SET, {"is_global": True}, []),
        (OF_PROJECT, {"project_id": "prj-1"}, []),
        (OF_PROJECT, {"project_id": "prj-2"}, [PARENT]),
        (OF_PROJECT, {"parent": "acme"}, [PARENT]),
        (OF_PROJECT, {"is_global": True}, [GLOBAL]),
        (OF_PROJECT, {"is_global": False}, []),
    ],
)
def test_a_draft_is_of_this_set_and_leaves_it_where_it_belongs(
    one: VariableSet, said: dict[str, Any], at: list[str]
) -> None:
    assert [fault.pointer for fault in SetDraft(**said).conflicts(one)] == at
