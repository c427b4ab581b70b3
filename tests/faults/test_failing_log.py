"""The disk under SQLite's log fails, and then the server is killed: what it said is still true."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest

from tests.faults.forgetful import ForgetfulHost
from tests.faults.server_under_load import ServerUnderLoad, server_under_load
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.tenant import JSON_API, variable_document

TOGETHER = 6
LOST_ONCE = "fdatasync:error=EIO:when=1"
BROKEN = "fdatasync,fsync:error=EIO"


@dataclass(frozen=True)
class Told:
    """What callers were answered: for each variable's key the code, or `created`."""

    answers: dict[str, str]

    def lies(self, there: set[str]) -> list[str]:
        """What is not as it was said."""
        found = [f"{key} was created and is lost" for key in self.of("created") - there]
        found += [
            f"{key} was refused and is there" for key in self.of("storage_unavailable") & there
        ]
        return found

    def of(self, word: str) -> set[str]:
        """The keys whose callers were answered so."""
        return {key for key, answer in self.answers.items() if answer == word}


@contextmanager
def injected(hit: ServerUnderLoad, fault: str) -> Iterator[None]:
    """Lets system calls of the workers fail; each thread counts its own."""
    strace = shutil.which("strace")
    assert strace, "this test lets system calls fail with strace; on Debian: apt install strace"
    pids = [worker.pid for worker in psutil.Process(hit.server.pid).children(recursive=True)]
    command = [strace, "-f", "-o", "/dev/null", "-e", f"inject={fault}"]
    command += [option for pid in pids for option in ("-p", str(pid))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        for _ in pids:
            line = tracer.stderr.readline()
            assert "attached" in line, f"strace must be allowed to look at other processes: {line}"
        try:
            yield
        finally:
            tracer.terminate()


async def create(hit: ServerUnderLoad, *keys: str) -> Told:
    """Creates variables at the same time."""
    headers = {"Authorization": f"Bearer {hit.token}", "Content-Type": JSON_API}
    async with httpx.AsyncClient(base_url=hit.server.url, headers=headers, timeout=HANGS) as client:
        answers = await asyncio.gather(
            *(client.post(hit.path, json=variable_document(key=key)) for key in keys)
        )
    return Told(
        {
            key: "created" if answer.status_code == 201 else answer.json()["errors"][0]["code"]
            for key, answer in zip(keys, answers, strict=True)
        }
    )


def read(hit: ServerUnderLoad) -> set[str] | None:
    """The keys that are there; None: refused."""
    with hit.server.client(hit.token) as client:
        answer = client.get(hit.path)
    if answer.status_code == 503:
        return None
    return {item["attributes"]["key"] for item in answer.json()["data"]}


async def until_read(hit: ServerUnderLoad) -> set[str]:
    """The keys that are there, as soon as reads are answered."""
    async with asyncio.timeout(HANGS):
        while True:
            if (there := read(hit)) is not None:
                return there
            await asyncio.sleep(0.05)


def after_a_kill(hit: ServerUnderLoad) -> set[str]:
    """The keys that are there after every process was killed and the server was started again."""
    hit.server.kill()
    hit.server.start()
    there = read(hit)
    assert there is not None
    assert hit.server.host.run("audit", "verify").code == 0
    return there


def keys(count: int) -> list[str]:
    return [f"key-{number}" for number in range(count)]


async def test_what_was_said_not_to_have_happened_is_not_there_after_a_failed_sync_and_a_kill(
    tmp_path: Path,
) -> None:
    with (hit := server_under_load(Host(tmp_path, {"LOG_FORMAT": "json"}))).server as server:
        assert (await create(hit, "before")).of("created") == {"before"}
        with injected(hit, LOST_ONCE):
            told = await create(hit, *keys(TOGETHER))
        assert told.of("storage_unavailable")
        shown = read(hit)
        assert shown is not None
        warnings = [line for line in server.log_lines() if line["level"] == "warning"]
        assert [line["event"] for line in warnings] == [
            "a commit may be in the log and not on the disk",
            "the log is settled",
        ]
        there = after_a_kill(hit)
        assert shown == there == {"before"} | told.of("created")


async def test_a_server_that_forgets_a_failed_commit_is_found_out(tmp_path: Path) -> None:
    with (hit := server_under_load(ForgetfulHost(tmp_path))).server:
        await create(hit, "before")
        with injected(hit, LOST_ONCE):
            told = await create(hit, "lost")
        assert told.lies(after_a_kill(hit)) == ["lost was refused and is there"]


# Of the writes of a create the fourteenth is the last: with it the commit is whole.
CALLS = [(call, n) for call in ("fdatasync", "pwrite64") for n in (1, 2, 3)] + [("pwrite64", 14)]


@pytest.mark.long
@pytest.mark.parametrize("count", [1, TOGETHER], ids=["alone", "together"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize(("call", "number"), CALLS)
async def test_what_was_answered_is_true_after_a_kill_whatever_call_failed(
    tmp_path: Path, call: str, number: int, error: str, count: int
) -> None:
    with (hit := server_under_load(Host(tmp_path))).server:
        await create(hit, "before")
        with injected(hit, f"{call}:error={error}:when={number}"):
            told = await create(hit, *keys(count))
            shown = await until_read(hit)
        assert not told.of("outcome_unknown")
        there = after_a_kill(hit)
        assert shown == there == {"before"} | told.of("created")


@pytest.mark.long
@pytest.mark.parametrize("is_mended", [False, True], ids=["killed", "mended"])
async def test_while_no_sync_succeeds_the_outcome_is_unknown_and_nobody_is_served(
    tmp_path: Path, is_mended: bool
) -> None:
    with (hit := server_under_load(Host(tmp_path))).server as server:
        await create(hit, "before")
        with injected(hit, BROKEN):
            told = await create(hit, *keys(TOGETHER))
            assert set(told.answers) == told.of("outcome_unknown") | told.of("storage_unavailable")
            assert told.of("outcome_unknown")
            assert read(hit) is None
            assert (await create(hit, "refused")).of("storage_unavailable") == {"refused"}
            if not is_mended:
                server.kill()
        if is_mended:
            assert await until_read(hit) == {"before"}
        there = after_a_kill(hit)
        assert "before" in there
        assert told.lies(there) == []
        assert (await create(hit, "after")).of("created") == {"after"}


@pytest.mark.long
async def test_two_workers_of_whose_commits_some_fail_say_nothing_that_is_not_so(
    tmp_path: Path,
) -> None:
    with (hit := server_under_load(Host(tmp_path), workers=2)).server:
        await create(hit, "before")
        told = Told({"before": "created"})
        with injected(hit, "fdatasync:error=EIO:when=3+4"):
            for number in range(10):
                more = await create(hit, *(f"{number}-{key}" for key in keys(TOGETHER)))
                told = Told({**told.answers, **more.answers})
        assert told.of("created") - {"before"}
        assert told.of("created") != set(told.answers)
        await until_read(hit)
        assert told.lies(after_a_kill(hit)) == []
