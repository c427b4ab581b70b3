"""Values that are code, read and evaluated where they keep nobody waiting (decision 008)."""

from teamvars.services.code.checker import CodeChecker
from teamvars.services.code.examination import CodeError, Examination, TooComplex

__all__ = ["CodeChecker", "CodeError", "Examination", "TooComplex"]
