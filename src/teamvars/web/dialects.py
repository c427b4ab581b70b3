"""What differs between the ways of speaking the API (contract §1): one object, chosen at start."""

from collections.abc import Mapping
from dataclasses import dataclass

from teamvars.domain.variables import Category


@dataclass(frozen=True, slots=True)
class Dialect:
    """`name` is part of every entity tag; the rest is what clients see."""

    name: str
    categories: Mapping[Category, str]


STANDARD = Dialect("standard", {Category.TOOL: "tool", Category.ENV: "env"})
