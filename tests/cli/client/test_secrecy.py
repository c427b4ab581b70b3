"""What becomes sensitive: by what a command was told, what is elsewhere, and what names say."""

import pytest

from teamvars.cli.client.changes import Wanted
from teamvars.cli.client.contents import Contents, Owner
from teamvars.cli.client.secrecy import Intent, Secrecy, settled, suggested
from teamvars.cli.exits import Failure
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Category

NEW, READABLE, SENSITIVE = None, False, True


def intents(*states: bool | None, key: str = "DB_URL") -> list[Intent]:
    """A variable that is wanted in workspaces where it is new, readable or sensitive."""
    return [
        Intent(
            Contents(
                Owner(f"ws-{n}", f"svc-{n}"),
                [] if state is None else [held(key, state)],
                None,
                "tool",
            ),
            [Wanted(key, Category.ENV, "topsecret")],
        )
        for n, state in enumerate(states)
    ]


def held(key: str, sensitive: bool) -> Variable:
    """A variable that is there."""
    value = None if sensitive else "old"
    return Variable("var-1", "ws-1", key, value, "", Category.ENV, False, sensitive, "v1", 0)


def marks(found: list[Intent]) -> list[bool | None]:
    """What the command would say of the variable in each workspace."""
    return [each.wanted[0].sensitive for each in found]


@pytest.mark.parametrize(
    ("states", "told", "expected"),
    [
        ((NEW, NEW), Secrecy(), [None, None]),
        ((SENSITIVE, NEW), Secrecy(), [None, True]),
        ((SENSITIVE, SENSITIVE), Secrecy(), [None, None]),
        ((READABLE, NEW), Secrecy(), [None, None]),
        ((SENSITIVE, READABLE, NEW), Secrecy(sensitive=True), [True, True, True]),
        ((SENSITIVE, READABLE, NEW), Secrecy(sensitive=False), [None, None, None]),
        ((SENSITIVE, READABLE, NEW), Secrecy(keys=["DB_*"]), [True, True, True]),
        ((READABLE, NEW), Secrecy(keys=["db_*"]), [None, None]),
    ],
)
def test_what_is_sensitive_in_one_workspace_is_so_where_it_is_new_unless_more_is_said(
    states: tuple[bool | None, ...], told: Secrecy, expected: list[bool | None]
) -> None:
    assert marks(settled(intents(*states), told)) == expected


def test_what_is_sensitive_here_and_readable_there_is_refused_until_it_is_said_which() -> None:
    with pytest.raises(Failure, match="sensitive in svc-0 and 1 more, and readable in svc-2") as no:
        settled(intents(SENSITIVE, SENSITIVE, READABLE, NEW), Secrecy())
    assert no.value.code == 2
    assert "topsecret" not in str(no.value)


@pytest.mark.parametrize(
    ("key", "told", "expected"),
    [
        ("API_KEY", Secrecy(takes_suggestions=True), [None, True]),
        ("REGION", Secrecy(takes_suggestions=True), [None, None]),
        ("API_KEY", Secrecy(), [None, None]),
        ("API_KEY", Secrecy(sensitive=False), [None, None]),
    ],
)
def test_a_suggestion_is_taken_where_that_is_said_and_changes_nothing_that_is_there(
    key: str, told: Secrecy, expected: list[bool | None]
) -> None:
    assert marks(suggested(intents(READABLE, NEW, key=key), told, asks=False)) == expected
