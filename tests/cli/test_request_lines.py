"""The log line of a request says what was refused, about what, and with which token."""

from typing import Any
from uuid import uuid4

import pytest

from tests.cli.conftest import ServedHost
from tests.cli.test_serving import STRANGER, log_line
from tests.support.commands import Host
from tests.support.engines import HOST_ON_SQLITE
from tests.support.server import Server
from tests.support.tenant import JSON_API, variable_document


def line_of(served_host: ServedHost, method: str, path: str, **options: Any) -> dict[str, Any]:
    """The log line of a request by alice, or with the headers that are given."""
    id_ = f"line-{uuid4()}"
    headers = {"X-Request-Id": id_, **options.pop("headers", {})}
    with served_host.server.client(options.pop("token", served_host.token)) as client:
        client.request(method, path, headers=headers, **options)
    return log_line(served_host, id_)


def test_a_refused_change_is_logged_with_its_codes_its_place_and_its_token(
    served_host: ServedHost,
) -> None:
    acme = served_host.applied["organizations"]["acme"]
    document = variable_document(key="a b", category="shell", value="hunter2")
    typed = {"Content-Type": JSON_API}
    line = line_of(served_host, "POST", served_host.vars_path, json=document, headers=typed)
    assert line["status"] == 422
    assert sorted(line["errors"]) == line["errors"] == ["invalid_value"]
    assert (line["organization_id"], line["organization"]) == (acme["id"], "acme")
    assert (line["workspace_id"], line["workspace"]) == (acme["workspaces"]["network"], "network")
    assert "team" not in line
    listed = served_host.host.succeed("token", "list", "--json").json
    assert line["token_id"] in {token["id"] for token in listed}
    assert "hunter2" not in served_host.server.log


def test_the_line_of_a_team_names_the_team(served_host: ServedHost) -> None:
    platform = served_host.applied["organizations"]["acme"]["teams"]["platform"]
    line = line_of(served_host, "GET", f"/api/v2/teams/{platform}/relationships/users")
    assert (line["team_id"], line["team"], line["organization"]) == (platform, "platform", "acme")
    assert "errors" not in line


def test_the_line_of_who_may_not_see_a_workspace_says_which_it_was(
    served_host: ServedHost,
) -> None:
    token = served_host.host.succeed("token", "create", "--user", "carol").out.strip()
    line = line_of(served_host, "GET", served_host.vars_path, token=token)
    assert (line["status"], line["errors"], line["workspace"]) == (404, ["not_found"], "network")


def test_the_line_of_a_stranger_has_neither_token_nor_place(served_host: ServedHost) -> None:
    line = line_of(served_host, "GET", served_host.vars_path, token=None, headers=STRANGER)
    assert (line["status"], line["errors"]) == (401, ["unauthenticated"])
    assert not {"token_id", "organization", "workspace"} & line.keys()


def test_the_trail_is_asked_for_a_request_by_the_id_of_its_line(served_host: ServedHost) -> None:
    document, typed = variable_document(key=f"key-{uuid4()}"), {"Content-Type": JSON_API}
    line = line_of(served_host, "POST", served_host.vars_path, json=document, headers=typed)
    told = served_host.host.succeed("audit", "list", "--request", line["request_id"], "--json")
    (entry,) = [told.json]
    assert (entry["action"], entry["request"]) == ("variable.create", line["request_id"])
    unknown = served_host.host.run("audit", "list", "--request", "nobody-sent-this")
    assert (unknown.code, unknown.out) == (5, "")
    assert "No entry belongs to the request nobody-sent-this." in unknown.err


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_successful_reads_can_be_left_out_and_nothing_else(host: Host, log_format: str) -> None:
    host.succeed("init")
    sampled = host.having(log_format=log_format, log_sample="0")
    with Server(sampled) as server, server.client() as client:
        for method, path in (("GET", "/healthz"), ("GET", "/lost"), ("POST", "/healthz")):
            client.request(method, path, headers={"X-Request-Id": f"{method}-{path}"})
        assert server.terminate() == 0
        said = [
            f"{method}-{path}" in server.log
            for method, path in (("GET", "/healthz"), ("GET", "/lost"), ("POST", "/healthz"))
        ]
    assert said == [False, True, True]


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@HOST_ON_SQLITE
@pytest.mark.parametrize(
    ("sent", "logged"),
    [
        (f"00-{TRACE}-{SPAN}-01", TRACE),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-adds", TRACE),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        ("anything", None),
    ],
)
def test_the_line_names_the_trace_that_a_request_is_part_of(
    served_host: ServedHost, sent: str, logged: str | None
) -> None:
    line = line_of(served_host, "GET", "/healthz", headers={"traceparent": sent})
    assert line.get("trace_id") == logged
