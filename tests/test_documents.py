"""The documents say what is so: links resolve, commands and codes exist, the tour works."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import click
import msgspec
import pytest
import yaml

from teamvars import fair_slots, settings, variable_files
from teamvars.cli import program
from teamvars.cli.commands import CLIENT, CLIENT_VARIABLES, OPERATOR
from teamvars.cli.operator import directory_file
from teamvars.cli.operator.directory_file import document as file_of
from teamvars.cli.operator.serve import MOST_READ_AHEAD
from teamvars.domain import (
    applies,
    client_settings,
    deliveries,
    federation,
    invitations,
    key_names,
    linked,
    names,
    runners,
    sign_ins,
    tags,
    times,
    tokens,
    variable_search,
    variables,
    workspaces,
)
from teamvars.domain import idempotency as kept_answers
from teamvars.domain.errors import Code
from teamvars.kernel.variables import MAX_KEY_CHARACTERS, MAX_VALUE_BYTES
from teamvars.security import assertions
from teamvars.services import audit_pages, parsed_files
from teamvars.storage.variable_search import MAX_KEYS, MAX_LOOKED_AT
from teamvars.variable_files import findings
from teamvars.web.dialects import STANDARD, TERRAFORM
from teamvars.web.examples import IDS
from teamvars.web.http import (
    errors,
    idempotency,
    json_body,
    paging,
)
from teamvars.web.http import parameters as includes
from teamvars.web.http.errors import STATUS
from teamvars.web.http.request import (
    LARGE_BODY_BYTES,
    MAX_BODY_BYTES,
    MAX_PARAMETERS,
    STRANGER_BODY_BYTES,
    UNAUTHENTICATED_BODY_BYTES,
)
from tests.cli.test_dev import Dev, dev
from tests.web.test_authorization import (
    EVERYONE,
    JOBS_ALONE,
    MATRIX,
    NO_FORM,
    NO_LINK,
    NOBODY,
    OPERATORS_ALONE,
    OWNERS,
    PLAIN,
    USERS_ALONE,
    WRITERS,
)
from tests.web.test_openapi import document_in

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:\S*/)?teamvars((?: [a-z]+(?:-[a-z]+)*)+)")
# Where a line calls a command, up to what ends it there.
COMMAND_LINE = re.compile(r"(?:^|(?<=[\s(\"]))teamvars ([a-z][^|;&)`]*)")
OPTION = re.compile(r"--?[a-z]")
CONTRACT = ROOT / "docs" / "contract.md"
POINTER = re.compile(r"contract §\d+(?:(?:,| and| to) §?\d+)*")
# Of fewer words it may as well be a command.
LOG_LINE = re.compile(r"^(?!.*teamvars)[a-z]+(?: [a-z]+){3,}$")
SETTING = re.compile(r"\bTEAMVARS_[A-Z_]+\b")
TOUR = re.compile(r"<!-- tour -->\n```sh\n(.*?)```", re.DOTALL)

READERS = frozenset(("reader", *WRITERS, *OWNERS))
WHO = {
    frozenset(EVERYONE): "anybody",
    frozenset(EVERYONE) - set(NOBODY): "any token",
    READERS | set(PLAIN): "members",
    READERS: "`read`",
    READERS - {"reader"}: "`write`",
    frozenset(("manager", *OWNERS)): "`manage-membership`",
    frozenset(OWNERS): "owners",
    frozenset(["plain"]): "oneself",
    frozenset(["admin"]): "site admins",
    frozenset[str](): "nobody",
}

__all__ = ["dev"]


def commands() -> set[tuple[str, ...]]:
    """Every command by its words, and every group."""
    found: set[tuple[str, ...]] = set()

    def walk(command: object, words: tuple[str, ...]) -> None:
        found.add(words)
        for name, below in getattr(command, "commands", {}).items():
            walk(below, (*words, name))

    walk(program.app, ())
    return found


def code_of(text: str) -> list[str]:
    """What stands between backticks, and the lines of blocks of shell, each as a shell reads it."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [*lines, *(" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose))]


def named_commands(text: str) -> set[tuple[str, ...]]:
    """The commands in code."""
    return {tuple(found[1].split()) for line in code_of(text) if (found := COMMAND.match(line))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        if not target.startswith(("http://", "https://", "#")):
            assert (document.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_is_named_exists(document: Path) -> None:
    known = commands()
    groups = {words[:1] for words in known if len(words) == 2}
    for words in named_commands(document.read_text()):
        # What follows is an argument, such as the name of a file.
        assert words[: 1 + (words[:1] in groups)] in known, words


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_option_that_is_given_to_a_command_is_one_of_its_own(document: Path) -> None:
    for line in code_of(document.read_text()):
        for typed in COMMAND_LINE.findall(line):
            words = re.split(r" (?:--|#) ", typed)[0].split()
            given = {word.partition("=")[0] for word in words if OPTION.match(word)}
            assert given <= options_of(words), line


def options_of(words: Sequence[str]) -> set[str]:
    """The options that the command takes which these words begin with."""
    found: click.Command = program.app
    for word in words:
        if not isinstance(found, click.Group) or word not in found.commands:
            break
        found = found.commands[word]
    if isinstance(found, program.LazyGroup):
        found = found.own
    if isinstance(found, program.LazyCommand):
        found = found.load()
    return {"--help"}.union(*({*one.opts, *one.secondary_opts} for one in found.params))


def test_every_command_of_dev_py_that_is_named_exists() -> None:
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    dev_py = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev_py)
    sources = [path for name in ("src", "tests", "bench") for path in (ROOT / name).rglob("*.py")]
    for path in [*DOCUMENTS, *sources, *ROOT.glob("requirements/*.txt")]:
        named = set(re.findall(r"(?:python3 |`)dev\.py ([a-z]+)\b", path.read_text()))
        assert named <= set(dev_py.COMMANDS), path


def test_every_command_and_every_setting_is_in_the_operators_document() -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    for words, _, _ in OPERATOR:
        assert f"`teamvars {words}`" in text
    assert settings.variables() == set(SETTING.findall(text))


def test_every_command_and_every_variable_of_the_client_is_in_its_document() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    for words, _, _ in CLIENT:
        assert f"`teamvars {words}`" in text
    assert set(SETTING.findall(text)) >= CLIENT_VARIABLES


@pytest.mark.parametrize("name", ["operating.md", "runbook.md"])
def test_every_line_of_the_log_that_is_named_is_written_somewhere(name: str) -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    written = re.sub(r'"\s+f?"', "", sources)
    named = [code for code in code_of((ROOT / "docs" / name).read_text()) if LOG_LINE.search(code)]
    assert len(named) > 5
    assert [line for line in named if line not in written] == []


def test_every_setting_that_is_named_exists() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    of_tests = {name for name in SETTING.findall(sources) if name.startswith("TEAMVARS_TEST_")}
    for document in DOCUMENTS:
        named = set(SETTING.findall(document.read_text()))
        assert named <= settings.variables() | CLIENT_VARIABLES | of_tests, document.name


def test_the_table_of_errors_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d{3}) \| (.+) \|$", text, re.MULTILINE)
    true = [(code.word, str(STATUS[code.kind]), code.title) for code in Code]
    assert sorted(rows) == sorted(true), "docs/api.md says otherwise than domain/errors.py"
    assert rows == sorted(rows, key=lambda row: row[1]), "the table is in the order of statuses"


def test_every_route_is_in_its_table_with_who_may(described: Mapping[str, list[str]]) -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    section = text.partition("\n## Every route\n")[2].partition("\n## ")[0]
    tables = dict(re.findall(r"^### (.+?)\n\n.+\n\|---.*\n((?:\|.*\n?)*)", section, re.MULTILINE))
    for tag, rows in described.items():
        told = tables.pop(tag, "").splitlines()
        lacking = "\n".join(row for row in rows if row not in told)
        assert not lacking, f"docs/api.md lacks, below '### {tag}':\n{lacking}"
        assert told == rows, f"docs/api.md has more than these below '### {tag}', or otherwise"
    assert not tables, "docs/api.md has tables of what is not there"


def test_every_attribute_that_a_request_may_say_is_in_the_document() -> None:
    told = set(re.findall(r"[a-z][a-z0-9-]*", (ROOT / "docs" / "api.md").read_text()))
    lacking = {
        name: missing
        for name, schema in document_in(STANDARD)["components"]["schemas"].items()
        # The console alone approves logins.
        if re.fullmatch(r"New(?!Login)\w+Attributes|\w+Changes", name)
        if (missing := schema["properties"].keys() - told)
    }
    assert not lacking, f"docs/api.md lacks {lacking}"


@pytest.fixture
def described() -> Mapping[str, list[str]]:
    """The row of every route, by the noun it belongs to."""
    rows: dict[str, list[str]] = {}
    for template, path in document_in(STANDARD)["paths"].items():
        for method, said in path.items():
            if method != "parameters":
                where = f"{method.upper()} {written(template, public='security' in said)}"
                who = who_may(method.upper(), template)
                rows.setdefault(said["tags"][0], []).append(
                    f"| `{where}` | {said['summary']} | {who} |"
                )
    return rows


def written(template: str, *, public: bool) -> str:
    """A path as the document has it: below `/api/v2`, or in full where it takes no token."""
    path = re.sub(r"\{(\w+)\}", r":\1", template)
    return path if public else path.removeprefix("/api/v2")


def who_may(method: str, template: str) -> str:
    """The word for those whom the table of the authorization tests lets in."""
    lacking = f"MATRIX of tests/web/test_authorization.py lacks {method} {template}"
    assert (method, template) in MATRIX, lacking
    if MATRIX[method, template] is NO_LINK:
        return "whoever has a link"
    if MATRIX[method, template] is NO_FORM:
        return "a job, or a program"
    if MATRIX[method, template] is JOBS_ALONE:
        return "a job"
    if MATRIX[method, template] is USERS_ALONE:
        return "users"
    if MATRIX[method, template] is OPERATORS_ALONE:
        return "owners, where the operator lets them"
    allowed = frozenset(who for who, status in MATRIX[method, template].items() if status == 200)
    assert allowed in WHO, f"WHO has no word for those who may {method} {template}: {set(allowed)}"
    return WHO[allowed]


def test_every_section_of_the_contract_that_is_pointed_at_is_there() -> None:
    sections = set(re.findall(r"^## (\d+)\. ", CONTRACT.read_text(), re.MULTILINE))
    pointed: dict[str, Path] = {}
    for folder in ("src", "tests", "bench", "docs"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".md", ".sql"):
                for phrase in POINTER.findall(path.read_text()):
                    pointed |= dict.fromkeys(re.findall(r"\d+", phrase), path)
    assert pointed
    assert set(pointed) <= sections, {n: str(pointed[n]) for n in set(pointed) - sections}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_section_of_another_document_that_is_linked_is_there(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        path, _, anchor = target.partition("#")
        if anchor and "://" not in target:
            text = (document.parent / path if path else document).read_text()
            titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}


def test_every_code_the_contract_names_exists() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", CONTRACT.read_text()))
    assert named <= {code.word for code in Code}
    assert len(named) > 10


@pytest.mark.parametrize("document", [CONTRACT, ROOT / "docs/cli.md"], ids=lambda path: path.name)
def test_the_names_that_say_a_secret_are_all_told(document: Path) -> None:
    told = re.findall(r"`(\*[A-Z_]+\*)`", document.read_text())
    assert tuple(told) == key_names.SECRET_NAMES


def test_the_limits_of_the_contract_are_those_of_the_code() -> None:
    section = CONTRACT.read_text().partition("\n## 9. ")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| (.+?) \| ([\d,]+) \|$", section, re.MULTILINE))
    told = {what: int(number.replace(",", "")) for what, number in rows.items()}
    quota, limits = settings.load().quota, settings.load().set_limits
    longest = next(n for n in range(1000) if not names.is_name("a" * (n + 1)) and n > 0)
    kept = [
        MAX_KEY_CHARACTERS,
        variables.MAX_DESCRIPTION_CHARACTERS,
        MAX_VALUE_BYTES,
        quota.variables,
        quota.value_bytes,
        limits.sets,
        limits.of_target,
        limits.of_set.variables,
        limits.of_set.value_bytes,
        longest,
        client_settings.MAX_CHARACTERS,
        workspaces.MAX_VERSION_CHARACTERS,
        client_settings.MAX_ITEMS,
        tags.MAX_TAGS,
        tags.MAX_NAME_CHARACTERS,
        tags.MAX_KEY_CHARACTERS,
        tags.MAX_VALUE_CHARACTERS,
        parsed_files.MAX_CONTENT_BYTES,
        variable_files.MAX_NAMES,
        variable_files.MAX_FAULTS,
        findings.MAX_DEPTH,
        linked.MAX_ITEMS,
        tokens.MAX_LIVE_TOKENS,
        sign_ins.MAX_SESSIONS,
        runners.MAX_RUNNERS,
        runners.MAX_WORKSPACES,
        runners.MAX_PATTERNS,
        federation.MAX_CONDITIONS,
        federation.MAX_CONDITION_CHARACTERS,
        runners.LONGEST_LIFE // times.DAY,
        runners.MAX_TTL_SECONDS,
        runners.DEFAULT_TTL_SECONDS,
        deliveries.MAX_GLOBS,
        deliveries.MAX_WILDCARDS,
        assertions.MAX_TOKEN_BYTES,
        invitations.MAX_A_DAY,
        invitations.MAX_A_DAY_OF_ADDRESS,
        invitations.LIFETIME // times.DAY,
        STRANGER_BODY_BYTES,
        MAX_BODY_BYTES,
        LARGE_BODY_BYTES,
        applies.MAX_ITEMS,
        json_body.MAX_ITEM_MEMBERS,
        applies.MAX_CODE_BYTES,
        UNAUTHENTICATED_BODY_BYTES,
        json_body.MAX_DEPTH,
        json_body.MAX_VALUES,
        MOST_READ_AHEAD,
        MAX_PARAMETERS,
        includes.MAX_CHARACTERS,
        paging.MAX_SIZE,
        variables.MAX_LISTED_IDS,
        variable_search.MAX_PAGE_VALUE_BYTES,
        MAX_LOOKED_AT,
        MAX_KEYS,
        paging.MAX_CURSOR_CHARACTERS,
        *[audit_pages.MOST_SEARCHED] * 3,
        errors.MOST_BYTES,
        fair_slots.PRINCIPAL_SHARE,
        fair_slots.ORGANIZATION_SHARE,
        fair_slots.LONE_SLOTS,
        fair_slots.PRINCIPAL_WAITERS,
        fair_slots.ADDRESS_WAITERS,
        20,  # rate_limits.MOST_FAILURES, which the tests lift
        idempotency.MAX_CHARACTERS,
        kept_answers.MAX_RECORDS,
        kept_answers.MAX_BYTES,
    ]
    others = (pair for pair in zip_longest(told.items(), kept) if (pair[0] or (0, 0))[1] != pair[1])
    first = next(others, None)  # behind it all are others
    assert first is None, (
        f"docs/contract.md §9 and `kept` part here: {first}. "
        "A new limit is a row there and a line here, in the same place."
    )


def test_the_contract_has_the_prefix_of_every_id() -> None:
    said = re.search(r"Ids are\s+a prefix \((.+?)\)", CONTRACT.read_text(), re.DOTALL)
    assert said is not None
    ids = {example.partition("-")[0] for name, example in IDS.items() if name.endswith("_id")}
    lacking = ids - set(re.findall(r"`(\w+)-`", said[1]))
    assert not lacking, f"docs/contract.md §4 lacks {', '.join(lacking)}"


def test_the_contract_tells_the_dialects_apart_as_the_code_does() -> None:
    text = CONTRACT.read_text()
    for dialect in (STANDARD, TERRAFORM):
        assert f"`{dialect.name}`" in text
        assert all(f"`{word}`" in text for word in dialect.categories.values())
    left_out = STANDARD.required_to_create - TERRAFORM.required_to_create
    assert left_out == {"description"}
    assert STANDARD.required_to_update - TERRAFORM.required_to_update == {"id", "attributes"}


def test_the_tour_shows_what_the_readme_says(dev: Dev) -> None:
    setup = dev.shell_lines.partition('echo "==')[0]
    steps = TOUR.findall((ROOT / "README.md").read_text())
    script = setup + "\n".join(steps)
    toured = subprocess.run(
        ["/usr/bin/env", "bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert toured.stderr == ""
    seen = toured.stdout
    assert "HTTP/1.1 201 Created" in seen
    assert '"key":"instance_type","value":"m5.large"' in seen
    assert '"key":"DB_PASSWORD","value":null' in seen
    assert "topsecret" not in seen
    assert "sensitive_is_permanent" in seen
    assert '"outcome":"updated","changed":["value"]' in seen
    assert '"outcome":"created"' in seen
    for code in ("missing_member", "invalid_value", "unknown_attribute"):
        assert f'"code":"{code}"' in seen
    assert seen.count("HTTP/1.1 204 No Content") == 3
    assert seen.count("invitation_not_accepted") == 1


def test_a_shell_reads_the_environment_file_whole(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    block = re.findall(r"```ini\n(# /etc/teamvars/environment.*?)```", text, re.DOTALL)[0]
    (tmp_path / "environment").write_text(block)
    script = 'set -a; . ./environment; printf %s "$TEAMVARS_DATABASE_URL"'
    url = subprocess.check_output(["/usr/bin/env", "bash", "-c", script], cwd=tmp_path, text=True)
    assert "sslmode=verify-full&sslrootcert=/" in url


def test_the_proxies_of_the_operators_document_take_the_longest_body() -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    taken = re.findall(r"client_max_body_size (\d+)m;", text)
    assert [int(mebibytes) << 20 for mebibytes in taken] == [LARGE_BODY_BYTES] * 2


def test_the_directory_file_of_the_operators_document_has_every_key(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/operating.md").read_text(), re.DOTALL)
    (path := tmp_path / "directory.yaml").write_text(blocks[0])
    directory = directory_file.read(path)
    assert file_of(directory) == yaml.safe_load(blocks[0])
    owners, team = directory.organizations[0].teams
    assert (owners.name, owners.members) == ("owners", ("alice",))
    assert None not in msgspec.structs.astuple(team)


def test_every_picture_is_shown_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = set(re.findall(r"images/([\w-]+\.png)", "".join(page.read_text() for page in pages)))
    assert shown == {path.name for path in (ROOT / "docs/images").iterdir()}


def test_what_jobs_are_set_up_with_is_yaml_and_names_settings_there_are() -> None:
    text = (ROOT / "docs/runners.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    read = [document for block in blocks for document in yaml.safe_load_all(block)]
    assert [one["kind"] for one in read if "kind" in one] == [
        *("ServiceAccount", "Role", "RoleBinding", "CronJob"),
    ]
    assert len(read) == 8
    runs = re.findall(r"teamvars[ ,]+run[ ,]+--[ ,]+terraform[ ,]+(\w+)", "".join(blocks))
    assert runs == ["plan", "plan", "plan", "plan", "apply"]
    settings = set(re.findall(r"TEAMVARS_\w+", "".join(blocks)))
    known = (ROOT / "docs/cli.md").read_text()
    assert {name for name in settings if f"`{name}" not in known} == set()


# Files that runners.md and this folder have, the schema of whoever reads them, and a word in each.
READ_BY_OTHERS = {
    ".github/workflows/plan.yml": ("github-workflows", "runs-on"),
    ".gitlab-ci.yml": ("gitlab-ci", "id_tokens"),
    "compose.yaml": ("compose-spec", "services"),
}
# `python -m check_jsonschema`, without the grammars of addresses that it would compile each time.
CHECK_JSONSCHEMA = """
import runpy, sys
sys.modules["rfc3987_syntax"] = None
runpy.run_module("check_jsonschema", run_name="__main__")
"""


@pytest.mark.parametrize("name", READ_BY_OTHERS)
def test_a_file_that_others_read_has_what_they_take_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    text = (ROOT / "docs/runners.md").read_text()
    shown = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL))
    content = shown[name] if name in shown else (ROOT / name).read_text()
    schema, word = READ_BY_OTHERS[name]
    path = tmp_path / "file.yml"
    for written, code in ((content, 0), (content.replace(word, f"{word}x"), 1)):
        path.write_text(written)
        command = [sys.executable, "-c", CHECK_JSONSCHEMA, "--builtin-schema", f"vendor.{schema}"]
        done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_line_of_prose_is_longer_than_100_characters(document: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in prose.splitlines() if not line.startswith(("|", "    "))]
    assert [line for line in lines if len(line) > 100] == []


def test_the_readme_is_a_front_door() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 160
