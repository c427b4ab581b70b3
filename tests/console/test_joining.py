"""How modules become one file: each stays by itself, and what is not understood is refused."""

import pytest

from teamvars.console import imports_of, in_order, join

SOURCES = {
    "low": "const PLACE = 1;\nexport function f() {\n  return PLACE;\n}\n",
    "first": "export const begun = true;\n",
    "start": 'import { f as g } from "./low.js";\nimport * as first from "./first.js";\n'
    "const PLACE = 2;\nexport class Start {}\n",
    "other": 'import { f } from "./low.js";\nimport { Start } from "./start.js";\n',
}
IMPORTS = {name: imports_of(source) for name, source in SOURCES.items()}


def test_modules_of_a_file_keep_their_names_to_themselves() -> None:
    served = join(SOURCES, {"start": in_order(["start"], IMPORTS, ["first"])})
    assert (
        served["start"]
        == """\
import * as $first from "./first.js";
const $low = (() => { // low.js
const PLACE = 1;
function f() {
  return PLACE;
}
return { f };
})();
const $start = (() => { // start.js
const { f: g } = $low;
const first = $first;
const PLACE = 2;
class Start {}
return { Start };
})();
export { $low, $start };
export const { Start } = $start;
"""
    )


def test_others_ask_the_file_for_what_is_in_it_in_as_many_lines() -> None:
    served = join(SOURCES, {"start": in_order(["start"], IMPORTS, ["first"])})
    assert set(served) == {"first", "start", "other"}
    assert served["first"] == SOURCES["first"]
    assert served["other"] == (
        'import { $low } from "./start.js"; const { f } = $low;\n'
        'import { $start } from "./start.js"; const { Start } = $start;\n'
    )


@pytest.mark.parametrize(
    "line",
    [
        "export let changes = 1;",
        "export default 1;",
        'export { f } from "./low.js";',
        'import "./low.js";',
        'import low from "./low.js";',
        'import { f } from "elsewhere";',
    ],
)
def test_a_module_that_is_written_otherwise_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"odd\.js cannot be joined"):
        join({**SOURCES, "odd": f"{line}\n"}, {"odd": ["low", "odd"]})
