"""Expressions of the HashiCorp configuration language, with the verdicts of terraform 1.11."""

from teamvars.hcl.errors import HclError, TooMuchWork
from teamvars.hcl.expression import Definition, Expression, Work, definitions, evaluate, parse

__all__ = [
    "Definition",
    "Expression",
    "HclError",
    "TooMuchWork",
    "Work",
    "definitions",
    "evaluate",
    "parse",
]
