"""What `dev.py size` and `dev.py trace` count."""

import sys
from pathlib import Path

from teamvars.domain import names
from tools.size import measured
from tools.trace import Tracer, shown

MODULE = '''\
"""A module."""

LIMIT = 3
"""A constant."""


class Shown:
    """A class."""

    def method(self) -> int:
        if LIMIT:
            return 1
        return 2

    def _hidden(self) -> None: ...
'''


def test_statements_are_counted_without_docstrings_and_public_names_with_them(
    tmp_path: Path,
) -> None:
    (path := tmp_path / "module.py").write_text(MODULE)
    size = measured(path)
    assert (size.modules, size.statements) == (1, 8)
    assert size.longest == (4, "method in module.py")
    assert size.public == {True: 2, False: 1}


def test_a_function_is_traced_once_and_none_but_ours(tmp_path: Path) -> None:
    tracer, before = Tracer(), sys.getprofile()
    sys.setprofile(tracer)
    with tracer.tracing() as entered:
        for _ in range(2):
            names.is_username("alice")
            tmp_path.exists()
    names.fold("alice")
    sys.setprofile(before)
    assert [shown(code).split() for code in entered] == [
        ["teamvars/domain/names.py", "is_username"]
    ]
