"""Log lines hold no stack trace and nothing of an error's text, whoever writes them."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, sys, traceback
from teamvars import logs
import structlog

logs.configure(logs.LogFormat(sys.argv[1]))

def fail(value):
    raise ValueError(f"the value is {value}")

try:
    fail("hunter2")
except ValueError as error:
    structlog.get_logger("ours").exception("bug", request_id="r")
    logging.getLogger("theirs").exception("bug")
    logging.getLogger("theirs").error(traceback.format_exc())
logging.getLogger("theirs").warning("mind %s", "this")
logging.getLogger("theirs").info("chatter")
structlog.get_logger("ours").info("odd", value=object)
"""


def written(log_format: str) -> str:
    """What a program that fails in every way writes."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, log_format], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_error_is_logged_by_kind_and_place_alone(log_format: str) -> None:
    text = written(log_format)
    assert "hunter2" not in text
    assert "Traceback" not in text
    assert len(text.splitlines()) == 5
    assert text.count("ValueError in") == 2


def test_every_json_line_is_one_document() -> None:
    lines = [json.loads(line) for line in written("json").splitlines()]
    assert [line["event"] for line in lines] == [
        "bug",
        "bug",
        "a stack trace was left out",
        "mind this",
        "odd",
    ]
    assert [line["level"] for line in lines] == ["error", "error", "error", "warning", "info"]
    assert lines[1]["logger"] == "theirs"
    assert all(line["timestamp"].endswith("Z") for line in lines)
