"""What an apply says of variables: by what each is found, and how much it may move."""

import pytest

from teamvars.domain.applies import ApplyDraft, ItemDraft
from teamvars.domain.variables import VariableDraft
from teamvars.kernel.variables import Category

NAMED = ItemDraft(VariableDraft("region", category=Category.ENV, at="/0/attributes"), at="/0")
BY_ID = ItemDraft(VariableDraft(at="/1/attributes"), at="/1", variable_id="var-1")
RENAMED = ItemDraft(VariableDraft("zone"), variable_id="var-1")
MOVED = ItemDraft(VariableDraft(category=Category.TOOL), variable_id="var-1")


@pytest.mark.parametrize(
    ("item", "subject", "at"),
    [
        (NAMED, ("region", Category.ENV), "/0/attributes/key"),
        (BY_ID, "var-1", "/1/id"),
        (RENAMED, "var-1", "/id"),
        (ItemDraft(VariableDraft("region")), None, "/data/attributes/key"),
        (ItemDraft(VariableDraft(category=Category.ENV)), None, "/data/attributes/key"),
    ],
)
def test_a_variable_is_found_by_its_id_where_one_is_said_and_by_its_name_else(
    item: ItemDraft, subject: object, at: str
) -> None:
    assert (item.subject, item.subject_at) == (subject, at)


@pytest.mark.parametrize(
    ("draft", "may"),
    [
        (ApplyDraft(), False),
        (ApplyDraft((NAMED, BY_ID)), False),
        (ApplyDraft((NAMED,), prune=True), True),
        (ApplyDraft((BY_ID, RENAMED)), True),
        (ApplyDraft((MOVED,)), True),
    ],
)
def test_an_apply_may_move_all_if_it_prunes_or_gives_a_variable_another_name(
    draft: ApplyDraft, may: bool
) -> None:
    assert draft.may_move_all is may
