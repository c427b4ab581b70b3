"""Code that may take long: read and evaluated in a process, which many share and none can hold."""

import asyncio
import os
import random
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest
import structlog
from msgspec.msgpack import Decoder
from structlog.testing import LogCapture

from teamvars.domain.errors import TOO_COMPLEX, Code, Refusal
from teamvars.fair_slots import LOCK_WAITERS, MOST_REST_SECONDS, FairLock
from teamvars.services.code import checker, child, examination
from teamvars.services.code.checker import CodeChecker, Killed, Limits, Process
from teamvars.services.code.examination import (
    CheckJob,
    Examination,
    Job,
    TooComplex,
    checked,
    examined,
    has_at_most,
)
from tests.support.patience import HANGS
from tests.support.processes import children, command, environment, is_there, niceness

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

PATIENT = Limits(processor_seconds=60, seconds=120)
LONG = "[" + "1," * 4_000 + "]"
EIGHT = "[1,1,1,1,1,1,1,1]"
ENDLESS = "[for a in [1e-1000,1e-1000,1e-1000,1e-1000] : " * 10 + "1e-999 % a" + "]" * 10
"""The slowest there is; it uses up all steps, which takes more than a second."""


@pytest.fixture
async def code() -> AsyncIterator[CodeChecker]:
    """A worker's own, with time enough for a busy machine."""
    checker = CodeChecker(PATIENT)
    yield checker
    await checker.close()


def process_ids() -> list[int]:
    return children(os.getpid(), "services.code.child")


async def process_id(code: CodeChecker) -> int:
    """That of the process, which is started if it must be."""
    before = set(process_ids())
    await code.check("somebody", [LONG])
    (started,) = set(process_ids()) - before
    return started


async def until_waiting() -> None:
    """Lets everybody go as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


def repeated(middle: str, rounds: int) -> str:
    """So often eight times the middle."""
    return f"[for a in {EIGHT} : " * rounds + middle + "]" * rounds


async def refusal(of: asyncio.Future[Examination]) -> Code:
    with pytest.raises(Refusal) as caught:
        await of
    (fault,) = caught.value.faults
    return fault.code


async def test_short_code_needs_no_process(code: CodeChecker) -> None:
    before = process_ids()
    wrong, right = await code.check("somebody", ["[1, 2", "[1, 2]"])
    assert wrong is not None
    assert right is None
    assert (await code.evaluate("somebody", '{ a = 1 + 1, b = "${true}" }')).evaluated
    assert process_ids() == before


async def test_the_process_is_kept_for_the_next_code_and_ended_at_the_end() -> None:
    code = CodeChecker(PATIENT)
    first = await process_id(code)
    assert (await code.evaluate("somebody", LONG)).value == b"[" + b"1," * 3_999 + b"1]"
    assert is_there(first)
    await code.close()
    assert not is_there(first)


async def test_the_process_is_told_no_code_and_no_setting_where_others_could_see_it(
    code: CodeChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAMVARS_DATABASE_URL", "postgresql://u:secret@host/db")
    started = await process_id(code)
    assert "1,1" not in command(started)
    assert "TEAMVARS" not in environment(started)


async def test_the_process_gives_way_to_others_and_has_so_much_memory(code: CodeChecker) -> None:
    started = await process_id(code)
    assert niceness(started) > niceness(os.getpid())
    most = PATIENT.memory_bytes
    assert resource.prlimit(started, resource.RLIMIT_AS) == (most, most)
    assert resource.prlimit(started, resource.RLIMIT_CORE) == (0, 0)


@pytest.mark.parametrize("source", [ENDLESS, repeated("1/3", 3)], ids=["long", "short"])
async def test_what_takes_too_long_is_too_complex_and_the_next_code_is_read(source: str) -> None:
    code = CodeChecker(Limits(processor_seconds=0.02, seconds=120))
    with pytest.raises(TooComplex):
        await code.evaluate("somebody", source)
    assert (await code.evaluate("somebody", "[for a in [1] : a]")).value == b"[1]"
    await code.close()


async def test_reading_alone_has_a_limit_too() -> None:
    code = CodeChecker(Limits(processor_seconds=0.02, seconds=120))
    (found,) = await code.check("somebody", ["[" + "1," * 131_000 + "]"])
    assert isinstance(found, TooComplex)
    await code.close()


async def test_of_many_pieces_each_has_its_own_verdict() -> None:
    code = CodeChecker(Limits(processor_seconds=0.2, seconds=120))
    long = "[" + "1," * 131_000 + "]"
    sources = ["1", "[1", *(f"{n}" for n in range(3000)), long, '"' + "a" * 50_000 + '"', "1 +"]
    found = await code.check("somebody", sources)
    assert len(found) == len(sources)
    wrong = {n: each for n, each in enumerate(found) if each is not None}
    assert wrong.keys() == {1, 3002, 3004}
    assert isinstance(wrong[3002], TooComplex)
    await code.close()


async def test_what_uses_up_the_memory_is_too_complex_and_the_next_code_is_read() -> None:
    code = CodeChecker(Limits(60, 120, memory_bytes=80 * 1024 * 1024))
    with pytest.raises(TooComplex):
        await code.evaluate("somebody", repeated("1e1000", 6))
    assert (await code.evaluate("somebody", "[for a in [1] : a]")).value == b"[1]"
    await code.close()


@pytest.mark.parametrize("source", [repeated("1e1000", 3), f"[{'1e1000,' * 200}]"])
async def test_a_value_far_larger_than_its_code_is_too_complex(
    code: CodeChecker, source: str
) -> None:
    with pytest.raises(TooComplex):
        await code.evaluate("somebody", source)


async def test_a_value_that_stands_there_is_never_too_large(code: CodeChecker) -> None:
    found = await code.evaluate("somebody", '"' + "\x01" * 250_000 + '"')
    assert len(found.value) == 6 * 250_000 + 2


async def test_code_whose_process_is_killed_is_read_by_another(code: CodeChecker) -> None:
    first = await process_id(code)
    os.kill(first, signal.SIGSTOP)
    found = asyncio.ensure_future(code.evaluate("somebody", LONG))
    await asyncio.sleep(0.05)
    os.kill(first, signal.SIGKILL)
    assert (await found).evaluated


async def test_code_that_has_two_processes_killed_is_too_complex(code: CodeChecker) -> None:
    await process_id(code)
    found = asyncio.ensure_future(code.evaluate("somebody", ENDLESS))
    while not found.done():
        await asyncio.sleep(0.01)
        for pid in process_ids():
            if niceness(pid) > 0:  # it has confined itself, and has the code soon after
                await asyncio.sleep(0.2)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                await asyncio.sleep(0.05)
    with pytest.raises(TooComplex):
        await found


async def test_a_process_that_is_idle_may_be_killed(code: CodeChecker) -> None:
    os.kill(await process_id(code), signal.SIGKILL)
    assert (await code.evaluate("somebody", LONG)).evaluated


async def test_what_waits_too_long_is_told_that_too_much_is_under_way() -> None:
    others = set(process_ids())
    code = CodeChecker(Limits(seconds=1))
    with suppress(Refusal):  # on a busy machine it has not even started by then
        await code.check("somebody", [LONG])
    for pid in set(process_ids()) - others:
        os.kill(pid, signal.SIGSTOP)
    running, waiting = (asyncio.ensure_future(code.evaluate(who, LONG)) for who in "ab")
    assert [await refusal(running), await refusal(waiting)] == [Code.BUSY, Code.BUSY]
    await code.close()


async def test_a_process_that_hangs_at_its_start_is_ended_as_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stuck = tmp_path / "stuck"
    stuck.write_text("#!/bin/sh\nexec sleep 10000\n")
    stuck.chmod(0o700)
    code = CodeChecker(Limits(seconds=0.2))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(stuck))
        for who in "ab":
            assert await refusal(asyncio.ensure_future(code.evaluate(who, LONG))) is Code.BUSY
    async with asyncio.timeout(HANGS):
        await code.close()


def test_who_gives_up_before_there_is_a_process_ends_it_all_the_same() -> None:
    running, given_up = Process(PATIENT), Event()
    given_up.set()
    with pytest.raises(Killed):
        running.examine(Job(LONG), Decoder(Examination | None), given_up)
    running.end()


async def test_a_process_that_does_not_start_is_busy_and_the_log_does_not_have_the_code(
    code: CodeChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = LogCapture()
    monkeypatch.setattr(checker, "log", structlog.wrap_logger(None, processors=[capture]))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert await refusal(asyncio.ensure_future(code.evaluate("a", LONG))) is Code.BUSY
    assert len(capture.entries) == 1
    assert "1,1" not in str(capture.entries)


async def test_principals_take_turns_and_each_waits_once(code: CodeChecker) -> None:
    pid = await process_id(code)
    os.kill(pid, signal.SIGSTOP)
    answered: list[str] = []

    async def ask(name: str) -> None:
        await code.evaluate(name[0], LONG)
        answered.append(name)
        if name == "a1":
            await ask("a3")

    tasks = []
    for name in ("a1", "a2", "b1", "c1"):
        tasks.append(asyncio.ensure_future(ask(name)))
        await until_waiting()
    again = asyncio.ensure_future(code.evaluate("a", LONG))
    assert await refusal(again) is Code.TOO_MANY_REQUESTS
    os.kill(pid, signal.SIGCONT)
    await asyncio.gather(*tasks)
    assert answered == ["a1", "a2", "b1", "c1", "a3"]


async def test_whoever_goes_away_while_waiting_leaves_the_place_to_others(
    code: CodeChecker,
) -> None:
    pid = await process_id(code)
    os.kill(pid, signal.SIGSTOP)
    tasks = [asyncio.ensure_future(code.evaluate(who, LONG)) for who in "abc"]
    await until_waiting()
    tasks[1].cancel()
    await until_waiting()
    tasks.append(asyncio.ensure_future(code.evaluate("b", LONG)))
    await until_waiting()
    os.kill(pid, signal.SIGCONT)
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found.pop(1), asyncio.CancelledError)
    assert all(isinstance(one, Examination) and one.evaluated for one in found)


async def test_whoever_goes_away_while_the_code_is_read_leaves_the_process_to_others(
    code: CodeChecker,
) -> None:
    await process_id(code)
    gone = asyncio.ensure_future(code.evaluate("a", ENDLESS))
    await asyncio.sleep(0.05)
    gone.cancel()
    assert (await code.evaluate("b", LONG)).evaluated
    assert gone.cancelled()


@pytest.mark.parametrize("seed", range(3))
async def test_nobody_is_given_anothers_result_whoever_goes_away(
    code: CodeChecker, seed: int
) -> None:
    chance = random.Random(seed)
    sources = [chance.choice(SHAPES).format(n=number) for number in range(40)]
    tasks = []
    for number, source in enumerate(sources):
        tasks.append(asyncio.ensure_future(code.evaluate(str(number), source)))
        await asyncio.sleep(chance.choice([0, 0, 0.002]))
        if chance.random() < 0.2:
            chance.choice(tasks).cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    for source, one in zip(sources, found, strict=True):
        if not isinstance(one, asyncio.CancelledError):
            assert one == examined(Job(source))


SHAPES = ["[for a in [{n}] : a]", "[for a in [{n}] : var.x{n}]", "[for a in [{n}] ", "x{n}[*].y"]


async def test_one_at_a_time_holds_the_lock_and_nobody_is_overtaken_twice() -> None:
    chance, lock = random.Random(1), FairLock()
    inside: list[str] = []
    order: list[tuple[str, str]] = []

    async def want(who: str) -> None:
        with suppress(Refusal):
            order.append(("wants", who))
            async with lock.held_by(who):
                order.append(("has", who))
                inside.append(who)
                assert len(inside) == 1
                await asyncio.sleep(0)
                inside.remove(who)

    for _ in range(500):
        task = asyncio.ensure_future(want(chance.choice("abcdef")))
        await asyncio.sleep(0)
        if chance.random() < 0.3:
            task.cancel()
    await until_waiting()
    async with asyncio.timeout(HANGS), lock.held_by("last"):
        pass
    for place, (what, who) in enumerate(order):
        if what == "has":
            waited = order[:place][-_since(order[:place], who) :]
            others = [other for did, other in waited if did == "has" and other != who]
            assert max(map(others.count, others), default=0) <= 2


def _since(order: list[tuple[str, str]], who: str) -> int:
    """How long ago they came."""
    return list(reversed(order)).index(("wants", who)) + 1


async def test_only_so_many_wait() -> None:
    lock = FairLock()

    async def want(who: str) -> None:
        async with lock.held_by(who):
            pass

    async with lock.held_by("first"):
        tasks = [asyncio.ensure_future(want(str(number))) for number in range(LOCK_WAITERS)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="busy"):
            await want("another")
    await asyncio.gather(*tasks)


async def test_each_principal_may_have_so_many_waiters_and_principals_take_turns() -> None:
    lock, order = FairLock(waiters_each=2), list[str]()

    async def want(who: str) -> None:
        async with lock.held_by(who):
            order.append(who)

    async with lock.held_by("first"):
        tasks = [asyncio.ensure_future(want(who)) for who in ("a", "a", "b", "c", "b")]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="too_many_requests"):
            await want("a")
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "c", "a", "b"]


async def test_after_whoever_had_it_nobody_has_it_for_so_many_times_as_long() -> None:
    lock, loop = FairLock(rest=3.0), asyncio.get_running_loop()
    async with lock.held_by("a"):
        began = loop.time()
        await asyncio.sleep(0.001)
        ended = loop.time()
    rest = min(3.0 * (ended - began), MOST_REST_SECONDS)
    async with asyncio.timeout(HANGS), lock.held_by("b"):
        assert loop.time() - ended > 0.999 * rest  # differences of milliseconds are not exact


async def test_who_waits_longer_than_they_may_is_refused_and_forgotten() -> None:
    lock = FairLock()
    async with lock.held_by("first"):
        with pytest.raises(Refusal, match="busy"):
            async with lock.held_by("a", seconds=0.01):
                raise AssertionError("it was held")
    async with asyncio.timeout(HANGS), lock.held_by("a"):
        pass


# Pieces of it, without a process


@pytest.mark.parametrize("source", [LONG, '"' + "a" * 8_000 + '"', "[for a in [1] : a]", "x[*].y"])
async def test_what_is_long_or_repeats_something_is_left_to_the_process(
    code: CodeChecker, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    found = Examination(valid=True)

    async def asked(*_: object) -> Examination:
        return found

    monkeypatch.setattr(code, "_result", asked)
    assert await code.evaluate("somebody", source) is found


async def test_of_a_batch_that_is_too_complex_each_piece_is_tried_alone(
    code: CodeChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked(_: str, job: CheckJob, __: object) -> list[None]:
        if len(job.sources) > 1 or job.sources == ("b",):
            raise TooComplex
        return [None]

    monkeypatch.setattr(code, "_result", asked)
    one, two, three = await code._checked("somebody", ["a", "b", "c"])
    assert (one, type(two), three) == (None, TooComplex, None)


@pytest.mark.parametrize(
    ("source", "is_short"),
    [("abc", True), ("abcd", False), ("\u00e9a", True), ("\u00e9\u00e9", False), ("\ud800", True)],
)
def test_code_is_short_by_its_bytes(source: str, is_short: bool) -> None:
    assert has_at_most(3, source) is is_short


@pytest.mark.parametrize(
    ("sources", "batches"),
    [
        ([], []),
        (["a" * 20], [["a" * 20]]),
        (["a" * 4, "b" * 6, "c"], [["a" * 4, "b" * 6], ["c"]]),
        (["c", "a" * 20, "b"], [["c"], ["a" * 20], ["b"]]),
    ],
)
def test_a_batch_has_so_much_code_or_one_piece(
    monkeypatch: pytest.MonkeyPatch, sources: list[str], batches: list[list[str]]
) -> None:
    monkeypatch.setattr(checker, "_BATCH_BYTES", 10)
    assert [*checker._batches(sources)] == batches


def test_what_is_read_and_evaluated_is_told_by_place_and_rule() -> None:
    good, bad, unknown = examined(Job("[1, 2]")), examined(Job("[1,")), examined(Job("1 + x"))
    assert (good.valid, good.evaluated, good.value, good.error) == (True, True, b"[1,2]", None)
    assert (bad.valid, bad.error is not None) == (False, True)
    assert (unknown.valid, unknown.evaluated, unknown.references) == (True, False, ("x",))
    none, error = checked(CheckJob(("1", "(")))
    assert none is None
    assert error is not None
    fault = checker._fault(error)
    assert fault is not None
    assert fault.meta == {"line": error.line, "column": error.column}
    assert checker._fault(None) is None
    assert checker._fault(TooComplex()) is TOO_COMPLEX


def test_a_value_may_be_so_much_larger_than_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "_ROOM", 0)
    monkeypatch.setattr(examination, "_GROWTH", 1)
    assert examined(Job('"abc"')).value == b'"abc"'
    monkeypatch.setattr(examination, "_ROOM", -1)
    with pytest.raises(TooComplex):
        examined(Job('"abc"'))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-signal.SIGPROF, TooComplex),
        (-signal.SIGKILL, Killed),
        (0, RuntimeError),
        (1, RuntimeError),
    ],
)
def test_an_exit_code_tells_what_ended_the_process(code: int, kind: type[Exception]) -> None:
    assert isinstance(checker._reason(code), kind)


def test_a_reply_that_was_cut_short_is_none() -> None:
    assert checker._whole(b"abc", 3) == b"abc"
    with pytest.raises(EOFError):
        checker._whole(b"ab", 3)


@pytest.mark.parametrize(("hard", "limit"), [(resource.RLIM_INFINITY, 5), (3, 3), (7, 5)])
def test_no_limit_is_wider_than_the_systems(
    monkeypatch: pytest.MonkeyPatch, hard: int, limit: int
) -> None:
    limits: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda *said: limits.append(said))
    child._limit(resource.RLIMIT_CORE, 5)
    assert limits == [(resource.RLIMIT_CORE, (limit, limit))]
