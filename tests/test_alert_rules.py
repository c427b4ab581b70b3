"""When the alerts of deploy/prometheus begin and end, as Prometheus works that out from numbers.

`test_alerts` has each fire in a service that is ill, without the times that they wait.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.test_alerts import FOLDER, alerts, program

SECONDS = 15
"""Between two scrapes."""
WELL_UNTIL, ILL_UNTIL, ENDS = 20, 60, 400
"""In scrapes."""


class Course(NamedTuple):
    """Numbers, each as it is while all is well and as it is meanwhile, or by how much it grows with
    each scrape; and for how many minutes after it went wrong nothing is told, when it is, and how
    many minutes after the end it is told no more.
    """

    series: Mapping[str, tuple[float, float]]
    silent: float
    told: float
    ended: float
    grows: bool = False


def bucket(le: str) -> str:
    return f'teamvars_event_loop_lag_seconds_bucket{{le="{le}"}}'


def refused(code: str) -> str:
    return f'teamvars_refusals_total{{code="{code}"}}'


def answered(status: str) -> str:
    return f'http_server_request_duration_seconds_count{{status="{status}"}}'


COURSES = {
    "TeamvarsDown": Course({'up{job="teamvars"}': (1, 0)}, 0.75, 1, 0),
    "TeamvarsNotReady": Course({"teamvars_ready": (1, 0)}, 0.75, 1, 0),
    "TeamvarsStorageUnavailable": Course({"teamvars_storage_available": (1, 0)}, 0.75, 1, 0),
    "TeamvarsWritesUnavailable": Course({"teamvars_writes_available": (1, 0)}, 0.25, 0.5, 0),
    "TeamvarsWorkerHangs": Course(
        {"teamvars_event_loop_last_turn_timestamp_seconds": (SECONDS, 0)}, 0.5, 1, 0.25, grows=True
    ),
    "TeamvarsWorkerIsSlow": Course(
        {bucket("0.25"): (30, 29), bucket("1"): (30, 30), bucket("+Inf"): (30, 30)},
        5,
        7,
        5,
        grows=True,
    ),
    "TeamvarsWorkersDie": Course({"teamvars_worker_deaths_total": (0, 1)}, 0.5, 1, 10, grows=True),
    "TeamvarsTrailAltered": Course(
        {"teamvars_altered_streams_total": (0, 1)}, 0, 0.25, 60, grows=True
    ),
    "TeamvarsDamagedValue": Course({refused("damaged_value"): (0, 1)}, 0, 0.25, 60, grows=True),
    "TeamvarsKeyNeededSoon": Course({"teamvars_keys_lacking": (0, 1)}, 4.75, 5, 0),
    "TeamvarsDataKeyDue": Course({"teamvars_data_key_seals": (2**30, 2**30 + 1)}, -0.25, 0, 0),
    "TeamvarsErrors": Course(
        {answered("2xx"): (99, 98), answered("5xx"): (0.9, 2)}, 5, 8, 5, grows=True
    ),
    "TeamvarsFlood": Course(
        {refused("busy"): (5, 10), refused("rate_limited"): (5, 10)}, 5, 8, 5, grows=True
    ),
    "TeamvarsTokensGuessed": Course({refused("unauthenticated"): (70, 80)}, 5, 10, 5, grows=True),
    "TeamvarsJobsRefused": Course({refused("invalid_target"): (0, 1)}, 4, 6, 15, grows=True),
    "TeamvarsMailGivenUp": Course(
        {'teamvars_messages_total{outcome="given up"}': (0, 1)}, 0, 0.25, 60, grows=True
    ),
    "TeamvarsClockOff": Course({"teamvars_clock_offset_seconds": (29, -31)}, 4.75, 5, 0),
}


def numbers(well: float, ill: float, *, grows: bool) -> str:
    """What the scrapes find, one after another."""
    if not grows:
        lengths = WELL_UNTIL, ILL_UNTIL - WELL_UNTIL, ENDS - ILL_UNTIL
        return " ".join(
            f"{n}x{length - 1}" for n, length in zip((well, ill, well), lengths, strict=True)
        )
    at, found = 0.0, []
    for scrape in range(ENDS):
        found.append(str(round(at, 3)))
        at += ill if WELL_UNTIL <= scrape < ILL_UNTIL else well
    return " ".join(found)


def looked_at(scrape: float, *, told: str | None) -> dict[str, Any]:
    """Which alerts fire then."""
    samples = [] if told is None else [{"labels": f'{{alertname="{told}"}}', "value": 1}]
    return {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": f"{int(scrape * SECONDS)}s",
        "exp_samples": samples,
    }


@pytest.mark.parametrize("alert", alerts())
def test_each_alert_waits_as_long_as_it_should_and_ends(alert: str, tmp_path: Path) -> None:
    its, a_minute = COURSES[alert], 60 / SECONDS
    looks = [
        looked_at(WELL_UNTIL + its.silent * a_minute, told=None),
        looked_at(WELL_UNTIL + its.told * a_minute, told=alert),
        looked_at(ILL_UNTIL - 1, told=alert),
        looked_at(ILL_UNTIL + its.ended * a_minute, told=None),
    ]
    series = [
        {"series": name, "values": numbers(*both, grows=its.grows)}
        for name, both in its.series.items()
    ]
    test = {"interval": f"{SECONDS}s", "input_series": series, "promql_expr_test": looks}
    document = {
        "rule_files": [str(FOLDER / "rules.yml")],
        "evaluation_interval": f"{SECONDS}s",
        "tests": [test],
    }
    file = tmp_path / "test.yml"
    file.write_text(json.dumps(document))
    done = subprocess.run(
        [program("promtool"), "test", "rules", file], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
