"""What a file says of things, and what becomes of what it does not speak of."""

import pytest

from teamvars.domain.access import Level
from teamvars.domain.directory import ProjectAccess, TagsEntry, TeamEntry
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant
from teamvars.domain.tags import Tags
from teamvars.domain.teams import Right

GRANT = ProjectGrant("tp-1", "org-1", "team-1", "prj-1", ProjectAccessType.READ, Level.READ)


def test_a_team_keeps_the_rights_of_which_nothing_is_said() -> None:
    entry = TeamEntry("crew", manage_teams=True, manage_workspaces=False)
    before = frozenset({Right.MANAGE_WORKSPACES, Right.READ_PROJECTS})
    assert entry.rights_after(before) == {Right.MANAGE_TEAMS, Right.READ_PROJECTS}
    assert TeamEntry("crew").rights_after(before) == before


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        (TagsEntry(), Tags(("a", "b"), {"k": "v"})),
        (TagsEntry(tag_names=("Z", "c")), Tags(("c", "z"), {"k": "v"})),
        (TagsEntry(tag_names=()), Tags((), {"k": "v"})),
        (TagsEntry(tag_bindings={"x": "1"}), Tags(("a", "b"), {"x": "1"})),
        (TagsEntry(tag_bindings={}), Tags(("a", "b"), {})),
    ],
)
def test_tags_of_which_nothing_is_said_stay_and_others_are_as_it_says(
    entry: TagsEntry, after: Tags
) -> None:
    assert entry.applied_to(Tags(("a", "b"), {"k": "v"})) == after


def test_a_file_says_more_of_a_grant_than_its_name_where_that_is_custom() -> None:
    custom = ProjectAccessType.CUSTOM
    assert ProjectAccess.of(GRANT) == ProjectAccess(ProjectAccessType.READ)
    own = ProjectGrant("tp-1", "org-1", "team-1", "prj-1", custom, Level.WRITE, {"x": True})
    assert ProjectAccess.of(own) == ProjectAccess(custom, Level.WRITE, {"x": True})
    assert ProjectAccess.of(own).applied_to(GRANT) == own
