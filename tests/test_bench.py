"""What measures runs: each documented command in its short form, and the parts of the benchmark."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from bench import dataset, openbao, programs, references, stage
from bench.core import POSTGRES_URL
from bench.dataset import EMPTY, SPREAD, Dataset
from bench.references import GRANIAN_ALONE, HTTP_ALONE
from bench.stage import Stage
from bench.subjects import Served
from bench.works import LIST, WORKS
from tests.support.commands import Host
from tests.support.postgres import Postgres
from tests.support.server import Server

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


@pytest.mark.parametrize("module", ["bench.hcl", "bench.json_parsers"])
def test_what_parsing_costs_is_measured(module: str) -> None:
    assert "µs" in run(module, "--quick")


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
        assert program.measure(LIST, 1).per_second > 0
    postgres.drop_database("benchmark")


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
