"""`run` in a job: it is handed what was sealed to it, and believes nothing else."""

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.protocol import bundles
from tests.support.commands import SCRIPT
from tests.support.desk import Desk, Homeless
from tests.support.handing import ISSUED, RUNNER, WORKSPACE, Handing, variable

SECRET = "canary-of-the-job"
TERRAFORM = """\
#!/bin/sh
echo "argv: $*"
echo "args: $TF_CLI_ARGS_plan"
echo "apply: $TF_CLI_ARGS_apply"
env | grep ^TF_VAR_
for word in $TF_CLI_ARGS_plan; do
  case $word in -var-file=*) cat "${word#-var-file=}" ;; esac
done
"""


@pytest.fixture
def service() -> Iterator[Handing]:
    """A service that hands out three variables."""
    named = variable("password", SECRET + ' "${x}"', "tool")
    ports = variable("ports", "[80, 443]", "tool", hcl=True, sensitive=False)
    with Handing(variable("API_KEY", SECRET), named, ports) as handing:
        yield handing


@pytest.fixture
def job(stranger: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A job of GitHub Actions, where nobody has logged in."""
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{service.url}/token?api-version=2")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-runner")
    (stranger.folder / "terraform").write_text(TERRAFORM)
    (stranger.folder / "terraform").chmod(0o755)
    return stranger.having(address=service.url, workspace=WORKSPACE, server_key=service.pinned)


def elsewhere(job: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The same, but not at GitHub."""
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_URL")
    return job


def test_a_job_is_handed_sensitive_values_and_says_where_it_is(job: Desk, service: Handing) -> None:
    done = job.succeed("run", "--", "sh", "-c", "echo $API_KEY")
    assert done.out == f"{SECRET}\n"
    assert f"GitHub Actions: delivered {WORKSPACE} by the runner {RUNNER}." in done.err
    assert SECRET not in done.err
    (form,) = service.exchanges()
    assert form["subject_token"] == "jwt-of-github"
    assert form["resource"] == f"{service.url}/api/v2/workspaces/{WORKSPACE}"
    asked, headers, _ = service.heard[0]
    assert asked.startswith(
        f"/token?api-version=2&audience={service.url.replace(':', '%3A').replace('/', '%2F')}%23"
    )
    assert headers["Authorization"] == "Bearer of-the-runner"
    assert service.heard[-1][1]["Authorization"] == f"Bearer {ISSUED}"
    assert not [body for _, _, body in service.heard if SECRET.encode() in body]


def test_an_issuer_that_gives_no_token_in_passing_is_asked_again(
    job: Desk, service: Handing
) -> None:
    service.unready = [503, None, 429]
    done = job.succeed("run", "--", "sh", "-c", "echo $API_KEY")
    assert done.out == f"{SECRET}\n"
    assert done.err.count("Sending it again") == 3
    asked = [path for path, _, _ in service.heard if path.startswith("/token")]
    assert len(asked) == 4
    assert len(set(asked)) == 1
    service.unready = [403]
    refused = job.run("run", "--", "true")
    assert refused.code == 125
    assert "GitHub Actions gives this job no token: it answered 403." in refused.err
    assert not service.unready


def test_a_job_that_says_service_workspace_and_key_needs_no_home(job: Desk) -> None:
    homeless = Homeless(job.folder, job.settings, job.home)
    assert homeless.succeed("run", "--", "sh", "-c", "echo $API_KEY").out == f"{SECRET}\n"


def test_terraform_gets_a_file_in_memory_that_nobody_can_change(job: Desk) -> None:
    done = job.succeed("run", "--", "./terraform", "plan")
    assert "argv: plan\n" in done.out
    assert "args: -var-file=/dev/fd/" in done.out
    assert "apply: -var-file=/dev/fd/" in done.out
    assert "TF_VAR_" not in done.out
    assert f'password = "{SECRET} \\"$${{x}}\\""\nports = [80, 443]\n' in done.out
    script = "f=${TF_CLI_ARGS_plan#-var-file=}; stat -Lc %a $f; echo x >>$f"
    tried = job.run("run", "--", "sh", "-c", script)
    assert (tried.code, tried.out) == (1 if os.geteuid() == 0 else 2, "400\n")
    assert SECRET not in " ".join(
        path.read_text() for path in job.folder.glob("*") if path.is_file()
    )


def test_a_file_in_memory_that_cannot_be_made_is_told_with_what_does_without(job: Desk) -> None:
    refused = job.bash("ulimit -f 0; teamvars run -- ./terraform plan")
    assert (refused.returncode, refused.stdout) == (125, "")
    assert "no file in memory for terraform: File too large. Give --tf-var." in refused.stderr
    assert "TF_VAR_ports" in job.bash("ulimit -f 0; teamvars run --tf-var -- ./terraform").stdout


def test_an_apply_of_a_saved_plan_gets_no_file(job: Desk) -> None:
    assert "apply: \n" in job.succeed("run", "--", "./terraform", "apply", "plan").out
    assert "apply: \n" in job.succeed("run", "--", "./terraform", "apply", "-input=false", "p").out
    whole = job.succeed("run", "--", "./terraform", "apply", "-target", "a.b", "-auto-approve").out
    assert "apply: -var-file=" in whole


def test_terraform_gets_an_environment_where_that_is_asked_for(job: Desk) -> None:
    done = job.succeed("run", "--tf-var", "--", "./terraform", "plan")
    assert "args: \n" in done.out
    assert "TF_VAR_ports=[80, 443]\n" in done.out


def test_a_key_is_held_to_the_rule_of_where_its_value_goes(job: Desk, service: Handing) -> None:
    service.variables = [variable("my-subnet", "a", "tool"), variable("good", "b", "tool")]
    plan = ("--", "./terraform", "plan")
    assert 'my-subnet = "a"\ngood = "b"\n' in job.succeed("run", *plan).out
    refused = job.run("run", "--tf-var", *plan)
    assert (refused.code, refused.out) == (125, "")
    assert "my-subnet: its key is not a shell name" in refused.err
    service.variables = [*service.variables, variable("1abc", "c", "tool")]
    refused = job.run("run", *plan)
    assert (refused.code, refused.out) == (125, "")
    assert "1abc: its key is no identifier (--skip-invalid-keys leaves it out)." in refused.err
    done = job.succeed("run", "--skip-invalid-keys", *plan)
    assert "1abc: is left out." in done.err
    assert 'my-subnet = "a"\ngood = "b"\n' in done.out
    assert "1abc" not in done.out


@pytest.mark.parametrize("words", [["-var", "ports=[1]"], ["-var=ports=[1]"], ["--var=ports=[1]"]])
def test_a_var_that_says_otherwise_is_refused(job: Desk, words: list[str]) -> None:
    refused = job.run("run", "--", "./terraform", "plan", *words)
    assert (refused.code, refused.out) == (125, "")
    assert "-var ports is another value" in refused.err
    same = [word.replace("[1]", "[80, 443]") for word in words]
    assert job.run("run", "--", "./terraform", "plan", *same, "-var", "other=1").code == 0


def test_only_what_is_wanted_is_asked_for_and_has_to_be_there(job: Desk, service: Handing) -> None:
    assert job.run("run", "--only", "API_*", "--", "true").code == 0
    assert b'"only":["API_*"]' in service.heard[-1][2]
    refused = job.run("run", "--only", "NONE_*", "--", "true")
    assert refused.code == 125
    assert "there is no variable like this" in refused.err


def test_names_that_run_something_else_are_refused_here_too(job: Desk, service: Handing) -> None:
    service.variables = [variable("LD_PRELOAD", "/nowhere/x.so")]
    refused = job.run("run", "--", "true")
    assert refused.code == 125
    assert "--allow-env LD_PRELOAD" in refused.err
    assert "/nowhere/x.so" not in refused.err


OTHERS = {
    "workspace": "ws-3TeBwD7yRZ4pQ1nC",
    "runner": "run-3TeBwD7yRZ4pQ1nC",
    "version": 2,
    "token": "another",
    "thumbprint": "another",
    "expires_at": 1,
    "only": ("API_*",),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_delivery_of_something_else_is_not_used_however_well_signed(
    job: Desk, service: Handing, name: str
) -> None:
    service.changes = {name: OTHERS[name]}
    refused = job.run("run", "--", "touch", "started")
    assert refused.code == 125
    assert SECRET not in refused.err
    assert not (job.folder / "started").exists()
    service.changes = {"head": "cd" * 32}  # the control: nobody has asked for a head
    assert job.run("run", "--", "true").code == 0


def test_what_another_has_signed_is_not_used(job: Desk, service: Handing) -> None:
    service.signer = Ed25519PrivateKey.generate()
    refused = job.run("run", "--", "true")
    assert refused.code == 125
    assert "not signed with the key" in refused.err
    both = bundles.shown_keys(
        [service.signer.public_key(), Ed25519PrivateKey.generate().public_key()]
    )
    assert job.having(server_key=both).run("run", "--", "true").code == 0


def test_without_a_pinned_key_nothing_is_asked_for(job: Desk, service: Handing) -> None:
    for nothing in ("", "not-a-key"):
        refused = job.having(server_key=nothing).run("run", "--", "true")
        assert refused.code == 125
        assert "server-key show" in refused.err
    assert service.heard == []


def test_a_job_names_its_workspace_by_its_id(job: Desk, service: Handing) -> None:
    refused = job.having(workspace="network").run("run", "--", "true")
    assert refused.code == 125
    assert "by its id" in refused.err


@pytest.mark.parametrize("words", [("--", "true"), ("--explain",)])
def test_a_machine_that_knows_its_service_is_told_that_the_workspace_is_missing(
    job: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    desk = elsewhere(job, monkeypatch)
    desk.succeed("runner", "init", "--server-key", service.pinned)
    refused = desk.having(address="", workspace="").run("run", *words)
    assert refused.code == 125
    assert "by its id" in refused.err


def test_tokens_that_were_given_are_taken_one_after_another_and_are_not_handed_on(
    job: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = elsewhere(job, monkeypatch).having(id_token="first", id_token_apply="second")
    used = (400, {"error": "invalid_request", "error_description": "This token was used before."})
    service.refuses = [used]
    done = given.succeed("run", "--", "env")
    assert [form["subject_token"] for form in service.exchanges()] == ["first", "second"]
    assert "not bound to this job" in done.err
    assert "TEAMVARS_ID_TOKEN" not in done.out
    service.refuses = [used, used]
    refused = given.run("run", "--", "true")
    assert refused.code == 125
    assert "used before" in refused.err
    assert "first" not in refused.err


def test_a_token_that_is_mounted_is_taken_where_its_file_is_named(
    job: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job.folder / "token").write_text("of-the-cluster\n")
    mounted = elsewhere(job, monkeypatch).having(id_token_file=job.folder / "token")
    assert "Kubernetes: delivered" in mounted.succeed("run", "--", "true").err
    (form,) = service.exchanges()
    assert (form["subject_token"], "thumbprint" in form) == ("of-the-cluster", True)
    (job.folder / "token").unlink()
    assert mounted.run("run", "--", "true").code == 125


def test_no_runner_for_this_job_is_said_so(job: Desk, service: Handing) -> None:
    service.refuses = [(400, {"error": "invalid_target"})]
    refused = job.run("run", "--", "true")
    assert refused.code == 125
    assert "has no approved runner" in refused.err
    assert "--allow-unbound" not in refused.err


def test_a_job_whose_token_names_no_key_is_told_what_its_runner_has_to_allow(
    job: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.refuses = [(400, {"error": "invalid_target"})]
    refused = elsewhere(job, monkeypatch).having(id_token="given").run("run", "--", "true")
    assert refused.code == 125
    assert "--allow-unbound" in refused.err


@pytest.mark.parametrize("words", [("--", "true"), ("--explain",)])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("GITHUB_ACTIONS", "permissions: {id-token: write}"),
        ("GITLAB_CI", 'id_tokens: {TEAMVARS_ID_TOKEN: {aud: "SERVICE"}}'),
        ("KUBERNETES_SERVICE_HOST", "no token of its service account"),
    ],
)
def test_a_job_that_has_no_token_is_told_what_gives_it_one(
    job: Desk,
    service: Handing,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    told: str,
    words: tuple[str, ...],
) -> None:
    desk = elsewhere(job, monkeypatch)
    monkeypatch.setenv(name, "true")
    refused = desk.run("run", *words)
    assert refused.code == 125
    assert "not logged in" in refused.err
    assert told.replace("SERVICE", service.url) in refused.err
    monkeypatch.delenv(name)
    assert len(desk.run("run", *words).err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "program", "words"),
    [
        ("BUILDKITE", "buildkite-agent", "oidc request-token --audience"),
        ("CIRCLECI", "circleci", 'run oidc get --claims {"aud":'),
    ],
)
def test_a_program_of_the_place_is_asked(
    job: Desk,
    service: Handing,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    program: str,
    words: str,
) -> None:
    desk = elsewhere(job, monkeypatch)
    (desk.folder / program).write_text('#!/bin/sh\necho "$@" >asked\necho of-the-place\n')
    (desk.folder / program).chmod(0o755)
    monkeypatch.setenv(name, "true")
    monkeypatch.setenv("PATH", f"{desk.folder}:{os.environ['PATH']}")
    service.refuses = [(400, {"error": "invalid_target"})]
    assert desk.run("run", "--", "true").code == 125
    assert service.exchanges()[0]["subject_token"] == "of-the-place"
    asked = (desk.folder / "asked").read_text()
    assert words in asked
    assert f"{service.url}#" in asked


def piped(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    """A command whose streams a runner of jobs reads."""
    line = [SCRIPT, "run", *words, "--", "true"]
    return subprocess.run(
        line, cwd=desk.folder, env=desk.environment, capture_output=True, text=True, check=True
    )


def test_github_masks_sensitive_values_and_each_of_their_lines(job: Desk, service: Handing) -> None:
    service.variables = [
        variable("KEY", "first 100%\r\nsecond::line\nabc\n"),
        variable("SHORT", "abc"),
        variable("OPEN", "readable", sensitive=False),
    ]
    said = piped(job).stderr.splitlines()
    assert [line for line in said if line.startswith("::")] == [
        "::add-mask::first 100%25%0D%0Asecond::line%0Aabc%0A",
        "::add-mask::first 100%25",
        "::add-mask::second::line",
    ]
    assert "::add-mask::" not in piped(job, "--no-mask").stderr
    assert "::add-mask::" not in job.succeed("run", "--", "true").err  # a file is no log


def test_nothing_is_delivered_where_whoever_takes_the_output_would_take_the_masks(
    job: Desk, service: Handing
) -> None:
    def tee(*words: str) -> subprocess.CompletedProcess[str]:
        line = shlex.join([SCRIPT, "run", *words, "--", "sh", "-c", "echo $API_KEY"])
        return subprocess.run(
            ["/bin/bash", "-o", "pipefail", "-c", f"{line} 2>&1 | tee plan.txt"],
            cwd=job.folder,
            env=job.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    refused = tee()
    assert refused.returncode == 125
    assert "leave out 2>&1, or give --no-mask" in (job.folder / "plan.txt").read_text()
    assert SECRET not in refused.stdout + refused.stderr
    assert service.heard == []
    assert tee("--no-mask").returncode == 0
    plan = (job.folder / "plan.txt").read_text()
    assert (plan.count(SECRET), "::add-mask::" in plan) == (1, False)


def test_no_other_place_is_told_to_mask(
    job: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = elsewhere(job, monkeypatch).having(id_token="given")
    assert "::add-mask::" not in piped(given).stderr


def test_a_machine_has_one_key_that_others_cannot_read(
    job: Desk, service: Handing, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = elsewhere(job, monkeypatch).having(server_key="")
    words = ("runner", "init", "--json", "--server-key", service.pinned)
    assert desk.run("runner", "init").code == 2  # it pins nothing
    made = desk.succeed(*words).json["public-key"]
    assert desk.succeed(*words).json["public-key"] == made
    path: Path = desk.files / "machine.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    service.refuses = [(400, {"error": "invalid_target"})]
    assert "The key of this machine" in desk.run("run", "--", "true").err
    assert service.exchanges()[0]["subject_token"].count(".") == 2
    path.chmod(0o644)
    refused = desk.run("run", "--", "true")
    assert refused.code == 125
    assert "Others can read" in refused.err
