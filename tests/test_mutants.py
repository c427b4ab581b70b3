"""Which guards are taken out of the code, and which tests are asked whether they notice."""

import os
import subprocess
import sys
from pathlib import Path

from tests.mutants.mutations import of_file
from tests.mutants.recording import ROOT, TracedTest, kept_in, name_of
from tests.mutants.running import nearest

SOURCE = '''
"""A module."""

LIMIT = 3


class Gate:
    """A gate."""

    async def enter(self, caller, count):
        """Refuses."""
        caller.require_owner()
        await self._lock(caller)
        assert caller is not None
        found = await look(caller, lock=True, keys=True)
        if count > LIMIT and not found.blocked or found.id == "é":
            return [one for one in found if one.open]
        verify = caller.require_owner()
        return verify
'''


def test_each_guard_is_taken_out_by_itself(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(SOURCE)
    mutants = of_file(tmp_path, "gate.py")
    assert {mutant.function for mutant in mutants} == {"Gate.enter"}
    assert {mutant.change for mutant in mutants if mutant.is_call} == {
        "caller.require_owner() → None",
        "await self._lock(caller) → None",
        "True → False",
    }
    assert sorted(mutant.change for mutant in mutants) == sorted(
        [
            "caller.require_owner() → None",
            "await self._lock(caller) → None",
            "True → False",
            'found.id == "é" → False',
            'found.id == "é" → True',
            "not found.blocked → False",
            "not found.blocked → True",
            "count > LIMIT → False",
            "count > LIMIT → True",
            "count > LIMIT → count >= LIMIT",
            "one.open → False",
            "one.open → True",
        ]
    )


def test_a_mutant_differs_in_its_place_alone(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(SOURCE)
    for mutant in of_file(tmp_path, "gate.py"):
        compile(mutant.source, "gate.py", "exec")
        pairs = zip(SOURCE.splitlines(), mutant.source.splitlines(), strict=True)
        changed = [number for number, (one, other) in enumerate(pairs, 1) if one != other]
        assert changed == [mutant.line]


def test_what_is_so_in_any_case_is_no_mutant(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("def f():\n    while True:\n        g()\n")
    assert [mutant.change for mutant in of_file(tmp_path, "loop.py")] == ["True → False"]


def test_what_stands_twice_in_a_function_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("def f(a):\n    g(a > 1)\n    g(a > 1)\n")
    changes = [mutant.change for mutant in of_file(tmp_path, "twice.py")]
    assert len(set(changes)) == len(changes) == 6


def test_the_tests_that_call_little_else_are_asked_first(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(SOURCE)
    *_, mutant = of_file(tmp_path, "gate.py")
    enter, other = name_of("gate.py", "Gate.enter"), name_of("gate.py", "Gate.leave")
    narrow = TracedTest("narrow", frozenset({enter}))
    wide = TracedTest("wide", frozenset({enter, other}))
    wider = TracedTest("wider", frozenset({enter, other, "else"}))
    tests = [wider, TracedTest("elsewhere", frozenset({other})), wide, narrow]
    assert nearest(mutant, tests, 10) == ["narrow", "wide", "wider"]
    assert nearest(mutant, tests, 2) == ["narrow", "wide"]


def test_no_file_has_more_than_its_turn(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(SOURCE)
    *_, mutant = of_file(tmp_path, "gate.py")
    enter = frozenset({name_of("gate.py", "Gate.enter")})
    narrow = [TracedTest(f"one::{number}", enter) for number in range(9)]
    wide = TracedTest("other::1", enter | {"else"})
    assert nearest(mutant, [*narrow, wide], 2) == [narrow[0].id, wide.id]


def test_all_tests_are_asked_before_one_is_asked_with_other_parameters(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(SOURCE)
    *_, mutant = of_file(tmp_path, "gate.py")
    enter = frozenset({name_of("gate.py", "Gate.enter")})
    table = [TracedTest(f"one::table[{number}]", enter) for number in range(9)]
    stores = [TracedTest(f"one::store[{engine}]", enter) for engine in ("postgres", "sqlite")]
    wide = TracedTest("one::wide", enter | {"else"})
    tests = [*table, *stores, wide]
    assert nearest(mutant, tests, 4) == [test.id for test in (*stores, table[0], wide)]


def test_without_a_recording_tests_are_asked_that_bear_the_name_or_import_the_file() -> None:
    path = "src/teamvars/decisions/tokens.py"
    (mutant, *_) = of_file(ROOT, path)
    files = ("web/test_metrics.py", "decisions/test_access.py", "services/test_tokens.py")
    tests = [TracedTest(f"tests/{file}::test", frozenset()) for file in files]
    assert nearest(mutant, tests, 10)[0] == "tests/services/test_tokens.py::test"
    called = frozenset({name_of(path, mutant.function)})
    recorded = TracedTest("tests/web/test_metrics.py::other", called)
    assert nearest(mutant, [*tests, recorded], 2) == [recorded.id, tests[-1].id]


def test_who_may_is_asked_of_every_route_whatever_the_noun() -> None:
    (mutant, *_) = of_file(ROOT, "src/teamvars/decisions/deliveries.py")
    files = ("domain/test_ids.py", "web/test_metrics.py", "web/test_authorization.py")
    tests = [TracedTest(f"tests/{file}::test", frozenset()) for file in files]
    assert nearest(mutant, tests, 1) == [tests[-1].id]


RECORDING = """
from pathlib import Path
from tests.mutants.recording import Recorder


def pytest_configure(config):
    config.pluginmanager.register(Recorder(Path(__file__).parent))
"""


def test_what_several_processes_run_is_recorded_in_each(tmp_path: Path) -> None:
    (tmp_path / "keeping.py").write_text(RECORDING)
    tests = "tests/domain/test_key_names_globs.py"
    options = ["-p", "keeping", "-p", "no:cacheprovider", "-n", "2", tests]
    command = [sys.executable, "-m", "pytest", *options]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    called = name_of("src/teamvars/domain/key_names.py", "Globs.__init__")
    assert any(called in names for names in kept_in(tmp_path).values())


TRYING = """
import math
from tests.mutants.mutations import of_file
from tests.mutants.recording import ROOT, TracedTest, name_of
from tests.mutants.running import Means, judge

path, tests = "src/teamvars/domain/memberships.py", "tests/domain/test_memberships_of_teams.py::"
asked = {
    "owners_lost": "test_owners_are_lost_only_when_none_would_remain",
    "MembersDraft.renamed": "test_every_item_of_an_id_at_fault_is_pointed_at",
}
mutants = {mutant.function: mutant for mutant in of_file(ROOT, path)}
recorded = [TracedTest(tests + test, {name_of(path, name)}) for name, test in asked.items()]
for until in (math.inf, 0):
    for mutant, verdict in judge([mutants[name] for name in asked], recorded, Means(1, 1, until)):
        print(mutant.function, verdict.value)
"""


def test_a_mutant_is_killed_by_a_test_that_fails_with_it_and_survives_the_others() -> None:
    command = [sys.executable, "-c", TRYING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "owners_lost killed",
        "MembersDraft.renamed survived",
        "owners_lost not tried in time",
        "MembersDraft.renamed not tried in time",
    ]
