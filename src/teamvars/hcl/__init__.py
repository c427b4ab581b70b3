"""Expressions of the HashiCorp configuration language, with the verdicts of terraform 1.11."""

from teamvars.hcl.errors import HclError, TooMuchWork
from teamvars.hcl.expression import Expression, evaluate, parse

__all__ = ["Expression", "HclError", "TooMuchWork", "evaluate", "parse"]
