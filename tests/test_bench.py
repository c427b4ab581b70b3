"""What measures runs: each documented command in its short form, and the parts of the benchmark."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psutil
import pytest

from bench import changes, dataset, deliveries, openbao, programs, references, report, stage
from bench.core import POSTGRES_URL
from bench.dataset import EMPTY, SPREAD, Dataset
from bench.jobs import JOBS
from bench.outcome import Outcome
from bench.references import GRANIAN_ALONE, HTTP_ALONE
from bench.rounds import QUICK, Results
from bench.stage import Stage
from bench.subjects import Program, Sample, Served
from bench.works import LIST, WORKS
from tests.support.commands import Host
from tests.support.patience import wait_until
from tests.support.postgres import Postgres
from tests.support.server import Server
from tests.support.tenant import Tenant

ROOT = Path(__file__).parent.parent


def run(*words: str, **environment: str) -> str:
    """What a module of the benchmark prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_figures_of_the_core_hold_and_each_change_is_counted_once(postgres: Postgres) -> None:
    postgres.create_database("figures")
    printed = run("bench.core", "--quick", **{POSTGRES_URL: postgres.url("figures")})
    postgres.drop_database("figures")
    for engine in ("SQLite", "PostgreSQL"):
        for change, statements in {"create": 4, "update": 5, "delete": 5}.items():
            row = next(x for x in printed.splitlines() if f"{engine}: {change} a variable" in x)
            assert f"{statements} statements, 1 transaction" in row
    assert "MISSED" not in printed
    assert "serve: from start to the first answer" in printed


async def test_jobs_of_the_benchmark_are_given_their_values(tmp_path: Path) -> None:
    async with deliveries.serving(tmp_path, None) as (served, tenant, desk):
        giver = deliveries.ours("SQLite", served, tenant)
        rate, spent = await asyncio.to_thread(deliveries.pairs, giver, deliveries.CONNECTIONS)
        assert min(rate, spent) > 0
        assert "delivered" in desk.succeed("run", "--", "true").err


async def test_what_a_change_costs_the_process_is_measured(tenant: Tenant) -> None:
    for name, (_, at_once) in changes.WORKS.items():
        assert await changes.measured(tenant, name, at_once) > 0


@pytest.mark.parametrize("module", ["bench.hcl", "bench.json_parsers", "bench.metrics"])
def test_what_parsing_costs_is_measured(module: str) -> None:
    assert "µs" in run(module, "--quick")


def test_what_commands_cost_is_measured() -> None:
    assert "times nothing" in run("bench.client", "--quick")


def test_the_table_of_jobs_counts_what_is_typed_for_them() -> None:
    rows = (ROOT / "docs" / "cli.md").read_text().splitlines()
    for job in JOBS:
        cells = next(row for row in rows if row.startswith(f"| {job.title} |")).split(" | ")[1:]
        typed = [len(way) if way else None for way in (job.command, job.curl, job.pytfe)]
        told = [int(cell.split(",")[0]) if cell[0].isdigit() else None for cell in cells]
        assert told == typed


async def test_everything_the_benchmark_measures_answers(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but `wrk` and `nginx`, which only the benchmark installs, and the longest lists."""
    monkeypatch.setattr(dataset, "GROWTH", ())
    host = Host(tmp_path, {"LOG_FORMAT": "json", "MAX_VARIABLES": "0"})
    made = await dataset.build(host, EMPTY)
    with_postgres = await dataset.copy(host, postgres, "benchmark")
    with Server(with_postgres) as server:
        for work in WORKS:
            assert work.plan(made, server.url).requests, "it answers with the status it must"
        like = Served("PostgreSQL", server.url, server.pid, made)
        listed = LIST.ask(server.url, made)
        for name in (HTTP_ALONE, GRANIAN_ALONE):
            with references.constant(name, tmp_path / name, 1, like, made) as alone:
                answer = LIST.ask(alone.url, made)
                assert answer.content == listed.content
                assert answer.headers.keys() == listed.headers.keys()
    url = postgres.url("benchmark")
    for program in (
        references.commits(tmp_path),
        references.pgbench_select(url, made, tmp_path),
        references.pgbench_insert(url, tmp_path),
    ):
        # On a busy host a second may be too short for a single one.
        wait_until(partial(_rate, program))
    postgres.drop_database("benchmark")


def _rate(program: Program) -> float:
    return program.measure(LIST, 1).per_second


# What each subject does a second, so that each figure is between its first bar and its goal.
MEASURED = {
    ("list-20", "nginx x1"): 20_000,
    ("list-20", "HTTP alone x1"): 5000,
    ("list-20", "HTTP alone x2"): 9000,
    ("list-20", "granian alone x1"): 10_000,
    ("list-20", "OpenBao"): 1000,
    ("list-20", "SQLite x1"): 6000,
    ("list-20", "PostgreSQL x1"): 4000,
    ("list-20", "PostgreSQL x2"): 4500,
    ("create", "OpenBao"): 1000,
    ("create", "SQLite x1"): 4500,
    ("create", "PostgreSQL x1"): 3500,
    ("members", "PostgreSQL x1"): 2100,
    ("mixed", "SQLite full"): 1000,
    ("mixed-wide", "SQLite full"): 700,
    ("mixed", "PostgreSQL full"): 1000,
    ("mixed-wide", "PostgreSQL full"): 500,
}


def told(rows: Mapping[tuple[str, str], float], load_cpu: float = 0.5) -> str:
    """The report of a run that came to that."""
    samples = {key: [Sample(n, 0.0, load_cpu=load_cpu)] * 3 for key, n in rows.items()}
    return report.markdown(Outcome(QUICK, {"granian": "2.8.7"}, Results(samples), {}, {}, {}, {}))


def test_each_figure_is_told_with_its_bars_and_what_it_was_taken_from() -> None:
    expected = """
| list of 20 / nginx | 0.25 | 0.35 | 0.3 | first bar | SQLite x1 / nginx x1, 0.30
| list of 20 / nginx | 0.18 | 0.25 | 0.225 | first bar | PostgreSQL x2 / nginx x1, 0.23
| list of 20 / OpenBao | 5 | 7 | 6 | first bar | SQLite x1 / OpenBao, 6.00
| list of 20 / OpenBao | 4 | 5.5 | 4.5 | first bar | PostgreSQL x2 / OpenBao, 4.50
| create / OpenBao | 4 | 5 | 4.5 | first bar | SQLite x1 / OpenBao, 4.50
| create / OpenBao | 3 | 4 | 3.5 | first bar | PostgreSQL x1 / OpenBao, 3.50
| members / create | 0.5 | 0.8 | 0.6 | first bar | PostgreSQL x1 / PostgreSQL x1, 0.60
| HTTP alone / granian alone | 0.45 | 0.6 | 0.5 | first bar | HTTP alone x1 / granian alone x1, 0.50
| full: mixed day over all / 64 | 0.6 | 0.8 | 0.7 | first bar | SQLite full / SQLite full, 0.70
| full: mixed day over all / 64 | 0.6 | 0.8 | 0.5 | below | PostgreSQL full / PostgreSQL full, 0.50
"""
    text = told(MEASURED)
    for line in expected.strip().splitlines():
        assert line in text
    assert "granian 2.8.7" in text.splitlines()[0]


def test_a_figure_says_when_the_load_was_the_bottleneck() -> None:
    row = next(x for x in told(MEASURED, 0.95).splitlines() if "granian alone | 0.45" in x)
    assert row.endswith(", wrk is the bottleneck |")
    assert "bottleneck" not in told(MEASURED, 0.85)


def test_without_openbao_a_run_says_what_is_missing_and_has_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "BAO", str(tmp_path / "bao"))
    assert programs.versions().keys() >= {"granian", "PostgreSQL"}
    with ExitStack() as stack:
        on = Stage()
        stage.add_openbao(on, stack, tmp_path, Dataset("", {}, {}, [], []))
    assert (on.for_lists, on.for_creates) == ([], [])
    assert capsys.readouterr().out.count("OpenBao cannot be run here") == 1
    others = {key: n for key, n in MEASURED.items() if key[1] != "OpenBao"}
    expected = [line for line in told(MEASURED).splitlines() if "OpenBao" not in line]
    assert told(others).splitlines() == expected


@pytest.mark.long
def test_openbao_is_set_up_to_be_read_and_written(tmp_path: Path) -> None:
    if programs.OPENBAO not in programs.versions():
        pytest.skip("only the benchmark installs OpenBao")
    made = Dataset("", {"list-20": "ws-1"}, {}, [], [])
    with openbao.openbao(tmp_path, made) as server:
        assert len(openbao.READ.ask(server.url, server.dataset).json()["data"]["data"]) == 20
        writes = openbao.WRITE.plan(server.dataset, server.url).requests
        assert len({request.path for request in writes}) == len(SPREAD)
        assert psutil.Process(server.pid).is_running()
        assert server.dataset.token not in " ".join(psutil.Process(server.pid).cmdline())
        assert server.dataset.token not in (tmp_path / "log").read_text()
    assert not psutil.pid_exists(server.pid)
