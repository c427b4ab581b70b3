"""Expressions of the HashiCorp configuration language, with the verdicts of terraform 1.11."""

from teamvars.hcl.errors import HclError
from teamvars.hcl.expression import evaluate, parse

__all__ = ["HclError", "evaluate", "parse"]
