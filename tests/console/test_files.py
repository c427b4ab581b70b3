"""What the console consists of: small files of our own, under a strict policy, and one setting."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.commands import Host
from tests.support.served_deployment import ServedDeployment
from tests.support.server import Server

BROWSER = {"Accept": "text/html", "Accept-Encoding": "gzip"}
STATIC = Path(__file__).parents[2] / "src" / "teamvars" / "console" / "static"
JOINED = ("/main.js", "/variables.js")
"""Files of several modules."""
PATHS = [
    "/app",
    "/app/",
    "/app/settings/tokens",
    "/app/acme",
    "/app/acme/workspaces/network/activity",
]


@pytest.fixture(scope="module")
def client(served: ServedDeployment) -> Iterator[httpx.Client]:
    """Who has no token."""
    with served.server.client() as client:
        yield client


def assets(client: httpx.Client, path: str = "/app/") -> list[str]:
    """Whatever the shell there loads."""
    return sorted(set(re.findall(r'(?:src|href)="(/app/[^"]+)"', client.get(path).text)))


def scripts(client: httpx.Client) -> list[str]:
    """All modules that are there."""
    [start] = [one for one in assets(client) if one.endswith("/main.js")]
    named = [start.replace("main.js", one.name) for one in sorted(STATIC.glob("*.js"))]
    return [one for one in named if client.get(one).status_code == 200]


PAGES = {
    "/app": "organizations.js",
    "/app/": "organizations.js",
    "/app/settings/tokens": "tokens.js",
    "/app/acme": "workspaces.js",
    "/app/acme/workspaces/": "workspaces.js",
    "/app/acme/workspaces/b%C3%BCro": "variables.js",
    "/app/acme/workspaces/network/activity": "activity.js",
    "/app/acme/varsets/varset-1/settings": "variable_set.js",
    "/app/acme/nothing": "",
}


@pytest.mark.parametrize("path", PAGES)
def test_the_shell_names_the_modules_of_its_page_and_of_no_other(
    client: httpx.Client, path: str
) -> None:
    named = {one.rpartition("/")[2] for one in assets(client, path)}
    assert {"session.js", "main.js"} <= named
    assert named & set(PAGES.values()) == {PAGES[path]} - {""}


def test_what_the_module_of_a_page_cannot_be_without_is_named_with_it(
    client: httpx.Client,
) -> None:
    named = {one.rpartition("/")[2] for one in assets(client, "/app/acme/workspaces")}
    assert {"paged_list.js", "search.js"} <= named
    assert "workspace_form.js" not in named  # which is asked for when it is wanted


@pytest.mark.parametrize("path", PATHS)
def test_every_page_is_the_shell_under_a_strict_policy(client: httpx.Client, path: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "trusted-types 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert client.head(path, headers=BROWSER).content == b""


def test_the_files_are_ours_and_are_kept_by_browsers(client: httpx.Client) -> None:
    shell = client.get("/app/").text
    assert not re.findall(r"https?://(?!www\.w3\.org)", shell)
    assert "<script>" not in shell
    for path in assets(client):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_file_of_another_edition_is_ours_and_is_not_kept(client: httpx.Client) -> None:
    answer = client.get("/app/0123456789abcdef/main.js")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/app/x/none.js", "/app/x/shell.html", "/app/a/b/c/d/e"],
)
def test_nothing_else_is_there(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_what_only_readers_need_is_not_sent_and_lines_keep_their_numbers(
    client: httpx.Client,
) -> None:
    for path in scripts(client):
        sent = client.get(path).text.split("\n")
        assert not any(one.lstrip().startswith("*") for one in sent)
        if path.endswith(JOINED):
            continue
        written = (STATIC / path.rpartition("/")[2]).read_text().split("\n")
        assert len(sent) == len(written)
        others = [theirs for ours, theirs in zip(sent, written, strict=True) if ours != theirs]
        assert all(one.lstrip().startswith(("/**", "*", "import ")) for one in others)


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("dom", "main"),
        ("heads", "main"),
        ("variable_form", "variables"),
        ("inherited", "variables"),
    ],
)
def test_what_is_wanted_together_is_one_file(client: httpx.Client, module: str, file: str) -> None:
    first = re.findall(r"^export (.+)$", (STATIC / f"{module}.js").read_text(), re.MULTILINE)[0]
    served = {one.rpartition("/")[2]: client.get(one).text for one in scripts(client)}
    assert [name for name, text in served.items() if f"\n{first}\n" in text] == [f"{file}.js"]
    assert f"{module}.js" not in served


def test_whatever_a_file_asks_another_for_is_there(client: httpx.Client) -> None:
    served = {one.rpartition("/")[2]: client.get(one).text for one in scripts(client)}
    exports = {
        name: set(re.findall(r"[$\w]+", " ".join(re.findall(r"^export (.+)", text, re.MULTILINE))))
        for name, text in served.items()
    }
    asked = 0
    for text in served.values():
        assert set(re.findall(r'"\./([\w.]+\.js)"', text)) <= set(served)
        for names, file in re.findall(r'^import \{(.+?)\} from "\./([\w.]+)";', text, re.MULTILINE):
            assert set(re.findall(r"([$\w]+)(?: as [$\w]+)?", names)) <= exports[file]
            asked += 1
    assert asked > len(served)


@pytest.mark.parametrize("coding", ["", "identity", "br", "gzip;q=0", "*"])
def test_who_does_not_take_gzip_gets_the_file_as_it_is(client: httpx.Client, coding: str) -> None:
    answer = client.get("/app/", headers={"Accept-Encoding": coding})
    assert "Content-Encoding" not in answer.headers
    assert answer.text.startswith("<!doctype html>")


def test_the_index_leads_people_to_the_console_and_programs_nowhere(client: httpx.Client) -> None:
    people = client.get("/", headers=BROWSER)
    assert (people.status_code, people.headers["Location"]) == (302, "/app/")
    assert client.get("/").json()["categories"] == ["tool", "env"]


@pytest.mark.parametrize("setting", ["console", "directory_api"])
def test_it_can_be_left_out(tmp_path: Path, setting: str) -> None:
    host = Host(tmp_path).having(**{setting: "off"})
    host.succeed("init")
    with Server(host) as server, server.client() as client:
        assert client.get("/app/").status_code == 404
        page = client.get("/", headers=BROWSER)
        assert page.status_code == 200
        assert "teamvars" in page.text
