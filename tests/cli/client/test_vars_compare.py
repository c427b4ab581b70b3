"""Two workspaces, or a workspace and a file, side by side: what each has, and what nobody tells."""

from collections.abc import Sequence

import pytest

from teamvars.cli.client.changes import Wanted
from teamvars.cli.client.comparing import Relation, paired
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Category
from tests.cli.client.test_vars_effective import shared
from tests.support.commands import Done
from tests.support.desk import Desk

__all__ = ["shared"]

HERE, THERE = ("-w", "network"), ("-w", "payments")
HIDDEN_VALUES = ("s3cret-here", "s3cret-there", "readable-there")


def variable(value: str | None, *, hcl: bool = False, description: str = "") -> Variable:
    """`KEY`, which is sensitive without a value."""
    category = Category.TOOL
    return Variable("", "", "KEY", value, description, category, hcl, value is None, "", 0)


def wanted(value: str | None, **more: object) -> Wanted:
    """The other side's `KEY`, of which all is known but a sensitive value."""
    known: dict[str, object] = {"hcl": False, "sensitive": value is None, "description": ""}
    return Wanted("KEY", Category.TOOL, value, **{**known, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "relation", "differs"),
    [
        ([variable("1")], [], Relation.ONLY_A, []),
        ([], [wanted(None)], Relation.ONLY_B, []),
        ([variable("1")], [wanted("1")], Relation.SAME, []),
        ([variable("1")], [wanted("2")], Relation.DIFFERENT, ["value"]),
        ([variable("1")], [wanted("1", hcl=True)], Relation.DIFFERENT, ["hcl"]),
        ([variable("1")], [wanted("1", description="x")], Relation.DIFFERENT, ["description"]),
        ([variable(None)], [wanted(None)], Relation.UNKNOWN, []),
        ([variable(None)], [wanted("1")], Relation.DIFFERENT, ["sensitive"]),
        ([variable("1")], [wanted(None)], Relation.DIFFERENT, ["sensitive"]),
        # A file says nothing of what is sensitive, nor of a description.
        ([variable(None)], [wanted("1", sensitive=None)], Relation.UNKNOWN, []),
        ([variable("1")], [wanted("1", sensitive=None, description=None)], Relation.SAME, []),
    ],
)
def test_each_name_is_in_one_group(
    a: Sequence[Variable], b: Sequence[Wanted], relation: Relation, differs: list[str]
) -> None:
    (pair,) = paired(a, b)
    assert (pair.relation, pair.differs) == (relation, differs)


@pytest.fixture
def both(desk: Desk) -> Desk:
    """Alice's desk, with something of each group in `network` and `payments`."""
    desk.succeed("vars", "set", "HERE=1", "SAME=s", "LEVEL=info", *HERE)
    desk.succeed("vars", "set", "THERE=2", "SAME=s", "LEVEL=debug", *THERE)
    for key, here, there in (("BOTH", "s3cret-here", "s3cret-there"), ("ONE", "s3cret-here", None)):
        desk.succeed("vars", "set", key, "--sensitive", *HERE, given=here)
        secrecy = "--no-sensitive" if there is None else "--sensitive"
        desk.succeed("vars", "set", key, secrecy, *THERE, given=there or "readable-there")
    return desk


def lines(done: Done) -> list[str]:
    """The table, with one space between two cells."""
    return [" ".join(line.split()) for line in done.out.splitlines()]


def test_two_workspaces_are_side_by_side_and_differ_with_3(both: Desk) -> None:
    done = both.run("vars", "compare", "network", "payments")
    assert done.code == 3
    assert lines(done) == [
        "? BOTH env (sensitive) (sensitive)",
        "< HERE env 1",
        "~ LEVEL env info debug",
        "~ ONE env (sensitive) (hidden) sensitive",
        "= SAME env s s",
        "> THERE env 2",
    ]
    assert "1 only in network, 1 only in payments, 2 different, 1 the same." in done.err
    assert "2 sensitive variables are compared by key alone" in done.err


def test_programs_are_told_each_pair_and_no_value_that_is_hidden(both: Desk) -> None:
    done = both.run("vars", "compare", "network", "payments", "--json")
    found = {one["key"]: one for one in done.json}
    assert {key: one["relation"] for key, one in found.items()} == {
        "BOTH": "unknown",
        "HERE": "only-a",
        "LEVEL": "different",
        "ONE": "different",
        "SAME": "same",
        "THERE": "only-b",
    }
    assert (found["LEVEL"]["a"]["value"], found["LEVEL"]["b"]["value"]) == ("info", "debug")
    assert found["ONE"]["differs"] == ["sensitive"]
    assert (found["ONE"]["b"]["value"], found["ONE"]["b"]["hidden"]) == (None, True)
    assert not [one for one in HIDDEN_VALUES if one in done.out + done.err]


def test_a_workspace_without_a_name_is_not_the_one_of_the_folder(both: Desk) -> None:
    for words in (("compare", "", "network"), ("copy", "")):
        refused = both.having(workspace="payments").run("vars", *words)
        assert (refused.code, "It is empty." in refused.err) == (2, True)


def test_what_is_the_same_or_known_by_key_alone_ends_with_0(desk: Desk) -> None:
    for place in (HERE, THERE):
        desk.succeed("vars", "set", "SAME=s", *place)
        desk.succeed("vars", "set", "SECRET", "--sensitive", *place, given=place[1])
    done = desk.succeed("vars", "compare", "network", "payments")
    assert lines(done) == ["= SAME env s s", "? SECRET env (sensitive) (sensitive)"]


def test_a_guess_in_a_file_learns_nothing_of_a_sensitive_value(desk: Desk) -> None:
    desk.succeed("vars", "set", "KEY", "--sensitive", *HERE, given="s3cret-here")
    desk.succeed("vars", "set", "OWN=1", "--category", "tool", *HERE)
    said = []
    for guess in ("s3cret-here", "another"):
        (desk.folder / "guess.env").write_text(f"KEY={guess}\n")
        done = desk.succeed("vars", "compare", "network", "guess.env")
        assert lines(done) == ["? KEY env (sensitive) (hidden)"]
        said.append((done.code, done.out, done.err))
    assert said[0] == said[1]


def test_a_file_is_compared_with_the_variables_of_its_category(desk: Desk) -> None:
    desk.succeed("vars", "set", "SIZE=1", "--category", "tool", "--description", "how many", *HERE)
    desk.succeed("vars", "set", "ENV=1", *HERE)
    (desk.folder / "x.tfvars").write_text('SIZE = "1"\n')
    assert lines(desk.succeed("vars", "compare", "network", "x.tfvars")) == ["= SIZE tool 1 1"]
    (desk.folder / "x").write_text("ENV=2\n")
    done = desk.run("vars", "compare", "network", "x", "--format", "dotenv")
    assert (done.code, lines(done)) == (3, ["~ ENV env 1 2"])
    assert desk.run("vars", "compare", "network", "nowhere").code == 5


def test_effective_compares_what_comes_from_sets_as_well(shared: Desk) -> None:
    assert lines(shared.run("vars", "compare", "network", "payments")) == ["< A env own"]
    assert lines(shared.run("vars", "compare", "network", "payments", "--effective")) == [
        "~ A env own A of the set description",
        "= B env B of the set B of the set",
    ]
