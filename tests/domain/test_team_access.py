"""What a grant may be called and lets a team do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.access import Level
from teamvars.domain.directory import FILE_ACCESS
from teamvars.domain.errors import Code
from teamvars.domain.team_access import (
    GRANT_LEVELS,
    LEVEL_OF,
    LOCKING,
    PERMISSIONS,
    PERMISSIONS_OF,
    AccessType,
    Grant,
    GrantDraft,
)

grants = st.builds(
    lambda access, custom: Grant(
        "tws-1", "org-1", "team-1", "ws-1", access, LEVEL_OF.get(access, custom)
    ),
    st.sampled_from(AccessType),
    st.sampled_from(GRANT_LEVELS),
)
permissions = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(list(one.words)) if one.words else st.booleans()
        for name, one in PERMISSIONS.by_name.items()
    },
)
drafts = st.builds(
    lambda access, variables, settings: GrantDraft(
        access=access, variables=variables, settings=settings
    ),
    st.none() | st.sampled_from(list(map(str, AccessType))),
    st.none() | st.sampled_from([level.word for level in GRANT_LEVELS]),
    permissions,
)


@given(grant=grants, draft=drafts)
def test_a_level_is_said_apart_only_where_the_access_is_custom(
    grant: Grant, draft: GrantDraft
) -> None:
    assert draft.all_faults() == []
    after = draft.applied_to(grant)
    assert after.access == (draft.access or grant.access)
    contradictory = draft.contradictions(grant)
    shown = {name: PERMISSIONS.value(after.permissions, name) for name in draft.settings}
    if after.access is not AccessType.CUSTOM:
        assert (after.level, after.custom) == (LEVEL_OF[after.access], {})
        said = shown == draft.settings and draft.variables in (None, after.level.word)
        assert said is not bool(contradictory)
    else:
        assert after.level.word == (draft.variables or grant.level.word)
        locks = after.level is Level.WRITE
        assert PERMISSIONS.value(after.permissions, LOCKING) is locks
        is_other = draft.settings.get(LOCKING, locks) is not locks
        assert [one.code for one in contradictory] == [Code.NOT_OFFERED] * is_other
        assert is_other or shown == draft.settings
    assert draft.applied_to(after) == after


@pytest.mark.parametrize("access", [one for one in AccessType if one is not AccessType.CUSTOM])
def test_what_an_access_type_lets_a_team_do_is_what_it_permits(access: AccessType) -> None:
    grant = Grant("tws-1", "org-1", "team-1", "ws-1", access, LEVEL_OF[access])
    assert grant.permissions == PERMISSIONS_OF[access]


def test_nobody_is_made_an_owner_by_a_grant() -> None:
    assert Level.OWNER not in {*GRANT_LEVELS, *LEVEL_OF.values()}
    assert {LEVEL_OF[access] for access in FILE_ACCESS} == {Level.READ, Level.WRITE}


@pytest.mark.parametrize("word", ["owner", "OWNER", "", "Read"])
def test_other_words_are_refused(word: str) -> None:
    faults = GrantDraft(access=word, variables=word).all_faults()
    assert [fault.code for fault in faults] == [Code.INVALID_VALUE, Code.INVALID_VALUE]
