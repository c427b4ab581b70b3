"""`GET /`: a page for people, JSON for programs, and nothing that needs a token."""

import base64
import hashlib
import re

import pytest

from teamvars import __version__
from tests.support.deployment import Deployment
from tests.support.engines import ON_SQLITE

ORIGIN = "http://teamvars.test"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


async def test_a_browser_gets_a_page_that_says_what_this_is_and_leads_on(
    deployment: Deployment,
) -> None:
    answer = await deployment.client.get(ORIGIN + "/", headers={"Accept": BROWSER})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert f"teamvars {__version__}" in answer.text
    links = re.findall(r'href="([^"]+)"', answer.text)
    assert "/openapi.json" in links
    for link in links:
        assert link.startswith("/"), "nothing of another host"
        assert (await deployment.client.get(ORIGIN + link)).status_code == 200


async def test_the_page_may_load_nothing_and_stand_in_no_frame(deployment: Deployment) -> None:
    answer = await deployment.client.get(ORIGIN + "/", headers={"Accept": BROWSER})
    assert "src=" not in answer.text
    assert "<script" not in answer.text
    (style,) = re.findall(r"<style>(.*?)</style>", answer.text)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert policy[:2] == ["default-src 'none'", f"style-src 'sha256-{digest}'"]
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@ON_SQLITE
@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/vnd.api+json", "application/json"),
        ("application/json, text/html", "application/json"),
        ("text/html;q=0.5, application/vnd.api+json", "application/json"),
        ("text/html;q=0", "application/json"),
        ("text/html;q=much", "application/json"),
        ("text/html", "text/html"),
        ("text/*", "text/html"),
        ("TEXT/HTML, */*;q=0.1", "text/html"),
        ("application/json;q=0.5, text/html", "text/html"),
        ("*/*, application/*;q=0.1", "text/html"),
        ("*/*, application/json;q=0, application/vnd.api+json;q=0", "text/html"),
    ],
)
async def test_who_prefers_a_page_gets_one_and_everybody_else_json(
    deployment: Deployment, accept: str | None, media_type: str
) -> None:
    headers = {} if accept is None else {"Accept": accept}
    answer = await deployment.client.get(ORIGIN + "/", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].partition(";")[0] == media_type
    assert answer.headers["Vary"] == "Accept"


async def test_a_program_reads_the_version_and_where_the_rest_is(deployment: Deployment) -> None:
    index = (await deployment.client.get(ORIGIN)).json()
    assert (index["name"], index["version"]) == ("teamvars", __version__)
    assert (index["api"], index["openapi"]) == ("/api/v2", "/openapi.json")
    for name in ("openapi", "deprecations", "health", "readiness"):
        assert (await deployment.client.get(ORIGIN + index[name])).status_code == 200


async def test_head_says_the_same_without_the_body(deployment: Deployment) -> None:
    for accept in ("text/html", "application/json"):
        headers = {"Accept": accept}
        whole = await deployment.client.get(ORIGIN + "/", headers=headers)
        head = await deployment.client.head(ORIGIN + "/", headers=headers)
        assert head.content == b""
        for name in ("Content-Length", "Content-Type", "Content-Security-Policy"):
            assert head.headers[name] == whole.headers[name]
