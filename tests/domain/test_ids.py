"""Ids: contract §4."""

import re
from collections import Counter

from teamvars.domain.ids import ALPHABET, new_id, new_version_id


def test_an_id_is_its_prefix_and_sixteen_characters_that_are_not_mistaken_for_others() -> None:
    assert len(ALPHABET) == 58
    assert not set("0OIl") & set(ALPHABET)
    assert re.fullmatch(f"var-[{ALPHABET}]{{16}}", new_id("var"))


def test_a_version_id_is_36_hex_characters() -> None:
    assert re.fullmatch(r"[0-9a-f]{36}", new_version_id())


def test_ids_are_not_repeated_and_use_every_character_everywhere() -> None:
    ids = [new_id("x")[2:] for _ in range(2000)]
    assert len(set(ids)) == len(ids)
    for place in range(16):
        assert Counter(id_[place] for id_ in ids).keys() == set(ALPHABET)
