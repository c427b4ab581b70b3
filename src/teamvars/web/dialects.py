"""What differs between the ways of speaking the API (contract §1): one object, chosen at start."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.domain.variables import Category, Variable
from teamvars.web.times import timestamp


class Dialect(msgspec.Struct, frozen=True):
    """`name` is part of every entity tag; the rest is what clients send and see.

    `created_at` gives the attribute of that name, or that there is none; `usernames` says whether
    a linkage object may name a user by username instead of by id; `unknown_includes` whether a
    workspace is shown without what its clients `include` and there is not;
    `deletes_with_variables` whether an organization that still has some is deleted unasked.
    """

    name: str
    categories: Mapping[Category, str]
    required_to_create: frozenset[str]
    required_to_update: frozenset[str]
    created_at: Callable[[Variable], str | UnsetType]
    usernames: bool
    unknown_includes: bool
    deletes_with_variables: bool


def _unset(_: Variable) -> UnsetType:
    return UNSET


def _created_at(variable: Variable) -> str:
    return timestamp(variable.created_at, variable.id)


STANDARD = Dialect(
    name="standard",
    categories={Category.TOOL: "tool", Category.ENV: "env"},
    required_to_create=frozenset({"key", "description", "category"}),
    required_to_update=frozenset({"id", "attributes"}),
    created_at=_unset,
    usernames=False,
    unknown_includes=False,
    deletes_with_variables=False,
)

TERRAFORM = Dialect(
    name="terraform",
    categories={Category.TOOL: "terraform", Category.ENV: "env"},
    required_to_create=frozenset({"key", "category"}),
    required_to_update=frozenset(),
    created_at=_created_at,
    usernames=True,
    unknown_includes=True,
    deletes_with_variables=True,
)

DIALECTS = {dialect.name: dialect for dialect in (STANDARD, TERRAFORM)}
