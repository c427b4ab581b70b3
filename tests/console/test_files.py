"""What the console consists of: small files of our own, under a strict policy, and one setting."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from teamvars.console.routes import POLICY
from tests.support.commands import Host
from tests.support.served_deployment import ServedDeployment
from tests.support.server import Server

BROWSER = {"Accept": "text/html", "Accept-Encoding": "gzip"}
STATIC = Path(__file__).parents[2] / "src" / "teamvars" / "console" / "static"
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
    assert {"main.js", "api.js", "dom.js"} <= named
    assert named & set(PAGES.values()) == {PAGES[path]} - {""}


def test_what_the_module_of_a_page_cannot_be_without_is_named_with_it(
    client: httpx.Client,
) -> None:
    named = {one.rpartition("/")[2] for one in assets(client, "/app/acme/workspaces")}
    assert {"heads.js", "paged_list.js", "search.js", "redraw.js"} <= named
    assert "workspace_form.js" not in named  # which is asked for when it is wanted


@pytest.mark.parametrize("path", PATHS)
def test_every_page_is_the_shell_under_a_strict_policy(client: httpx.Client, path: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert "default-src 'none'" in POLICY
    assert "trusted-types 'none'" in POLICY
    assert "unsafe" not in POLICY
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
    modules = [one for one in assets(client, "/app/acme") if one.endswith(".js")]
    for path in modules:
        sent = client.get(path).text.split("\n")
        written = (STATIC / path.rpartition("/")[2]).read_text().split("\n")
        assert len(sent) == len(written)
        left_out = [theirs for ours, theirs in zip(sent, written, strict=True) if ours != theirs]
        assert left_out
        assert all(one.lstrip().startswith(("/**", "*")) for one in left_out)
        assert not any(one.lstrip().startswith("*") for one in sent)


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
