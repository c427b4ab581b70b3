"""Log lines hold no stack trace and nothing of an error's text, whoever writes them."""

import json
import os
import pty
import re
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, logging, sys, traceback
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

async def fail_unheard(value):
    fail(value)

async def main():
    asyncio.get_running_loop().call_soon(fail, "hunter2")
    asyncio.create_task(fail_unheard("hunter2"))
    await asyncio.sleep(0)

asyncio.run(main())
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
    assert len(text.splitlines()) == 7
    assert text.count("ValueError in") == 4


def test_every_json_line_is_one_document() -> None:
    lines = [json.loads(line) for line in written("json").splitlines()]
    assert [line["event"] for line in lines] == [
        "bug",
        "bug",
        "a stack trace was left out",
        "mind this",
        "odd",
        "Exception in callback fail",
        "Task exception was never retrieved",
    ]
    levels = [line["level"] for line in lines]
    assert levels == [*["error"] * 3, "warning", "info", *["error"] * 2]
    assert lines[1]["logger"] == "theirs"
    for line in lines:
        assert line["timestamp"].endswith("Z")
        written_at = datetime.fromisoformat(line["timestamp"])
        assert written_at.isoformat() == line["timestamp"].replace("Z", "+00:00")


LOOP = """
import asyncio, sys
from teamvars import logs
import structlog

logs.configure(logs.LogFormat.JSON)
log = structlog.get_logger("ours")

async def main():
    log.info("first")
    await asyncio.sleep(0)
    await asyncio.to_thread(log.info, "of a thread")
    for number in range(40):
        log.info("many", number=number, room="x" * 300)
    print("after", file=sys.stderr, flush=True)
    await asyncio.sleep(0.01)
    log.info("last")
    sys.exit(3)

asyncio.run(main())
"""


def test_lines_of_a_loop_are_whole_in_order_and_none_is_lost_at_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", LOOP], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    # In one piece at the end of the turn: what is written past the log comes before.
    assert lines.index("after") == 2
    events = [json.loads(line) for line in lines if line != "after"]
    assert [line["event"] for line in events] == ["first", "of a thread", *["many"] * 40, "last"]
    assert [line["number"] for line in events if "number" in line] == list(range(40))


FULL = """
import asyncio, logging, os, resource, sys
from teamvars import logs
import structlog

file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(file, 2)
logs.configure(logs.LogFormat.JSON)
log = structlog.get_logger("ours")

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def fail():
    1 / 0

async def main():
    log.info("before")
    await asyncio.sleep(0)
    limit(os.fstat(2).st_size + 10)  # in the middle of the next line
    for _ in range(3):
        log.info("lost")
    await asyncio.sleep(0)
    await asyncio.to_thread(logging.getLogger("theirs").error, "lost")
    asyncio.get_running_loop().call_soon(fail)
    for _ in range(10):
        await asyncio.sleep(0)
    limit(os.fstat(2).st_size + 20)  # in the middle of the line that tells of it
    log.info("lost")
    await asyncio.sleep(0)
    limit(resource.RLIM_INFINITY)
    log.info("after")
    await asyncio.sleep(0)
    log.info("last")

asyncio.run(main())
"""


def test_a_full_disk_harms_nobody_who_logs_and_the_log_says_how_many_lines_are_lost(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log"
    subprocess.run([sys.executable, "-c", FULL, str(file)], check=True)
    before, torn, told_torn, told, after, last = file.read_text().splitlines()
    assert (len(torn), len(told_torn)) == (10, 19)
    whole = [json.loads(line) for line in (before, told, after, last)]
    assert [line["event"] for line in whole] == [
        "before",
        "lines of the log were lost",
        "after",
        "last",
    ]
    assert (whole[1]["lines"], whole[1]["level"]) == (6, "error")


WORKERS = """
import asyncio, sys
from teamvars import logs
import structlog

logs.configure(logs.LogFormat.JSON)

async def main():
    for turn in range(50):
        for number in range(40):
            structlog.get_logger().info("many", worker=sys.argv[1], room="ä" * (number * 5))
        await asyncio.sleep(0)

asyncio.run(main())
"""


def test_lines_of_workers_that_share_a_pipe_do_not_mix() -> None:
    read, write = os.pipe()
    with os.fdopen(read) as lines:
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKERS, name], stderr=write)
            for name in ("one", "two", "three")
        ]
        os.close(write)
        time.sleep(0.5)  # the pipe fills, so that what is written has to wait in the middle
        counted = Counter(json.loads(line)["worker"] for line in lines)
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert counted == {"one": 2000, "two": 2000, "three": 2000}


ONE_LINE = """
import sys
from teamvars import logs
import structlog

logs.configure(logs.LogFormat(sys.argv[1]), logs.LogLevel(sys.argv[2]))
log = structlog.get_logger("ours")
log.debug("noise")
log.info("spoken", name="a b", odd="\\x1b[2J\\nforged", none=None, empty="", plain="a/b")
log.warning("mind\\nthis")
"""


def on_a_terminal(*words: str) -> str:
    """What a program writes to a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as shown:
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        command = [sys.executable, "-c", ONE_LINE, *words]
        subprocess.run(command, stderr=theirs, env=environment, check=True)
        os.close(theirs)
        return shown.read(4096).decode()


def test_lines_are_for_people_on_a_terminal_and_json_elsewhere() -> None:
    command = [sys.executable, "-c", ONE_LINE, "auto", "info"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == [
        "spoken",
        "mind\nthis",
    ]
    spoken = on_a_terminal("auto", "info")
    assert "\x1b[1mspoken\x1b[0m" in spoken
    assert on_a_terminal("json", "info").startswith("{")


def test_nothing_in_a_console_line_ends_it_or_commands_the_terminal() -> None:
    command = [sys.executable, "-c", ONE_LINE, "console", "debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    noise, spoken, mind = done.stderr.splitlines()
    assert noise.endswith("Z [debug   ] noise")
    assert spoken.endswith(r"spoken name='a b' odd='\x1b[2J\nforged' none=None empty='' plain=a/b")
    assert mind.endswith(r"[warning ] 'mind\nthis'")


@pytest.mark.parametrize(
    ("level", "events"),
    [("debug", 3), ("info", 2), ("warning", 1), ("error", 0)],
)
def test_what_is_below_the_level_is_not_written(level: str, events: int) -> None:
    command = [sys.executable, "-c", ONE_LINE, "json", level]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(done.stderr.splitlines()) == events


REQUESTS = """
import sys
from teamvars import logs
import structlog

logs.configure(logs.LogFormat(sys.argv[1]), logs.LogLevel(sys.argv[2]))
log = structlog.get_logger("ours")
for status, write, level in ((200, log.info, "info"), (500, log.error, "error")):
    fields = dict(request_id="r-ä", client="::1", actor=None, method="GET", route="/a b")
    fields |= dict(status=status, ms=0.31)
    write("request", **fields)
    logs.REQUESTS.write(logs.RequestLine(**fields, level=level))
"""


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.parametrize(("level", "lines"), [("info", 4), ("warning", 2)])
def test_the_line_of_a_request_is_as_every_other(log_format: str, level: str, lines: int) -> None:
    command = [sys.executable, "-c", REQUESTS, log_format, level]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    time_of_day = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+"
    written = [re.sub(time_of_day, "", line) for line in done.stderr.splitlines()]
    assert len(written) == lines
    assert written[::2] == written[1::2]
