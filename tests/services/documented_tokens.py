"""What known issuers say of a job, with all the claims that their documentation has in an example
or a table, and what a runner of such a job asks for.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from joserfc import jws
from joserfc.jwk import RSAKey

from teamvars.domain.federation import BUILDKITE, CIRCLECI, GITHUB, GITLAB
from teamvars.services.issuers import Issuer

_KEY = RSAKey.generate_key(2048, {"kid": "2b1f"})
_PUBLIC = json.dumps({"keys": [_KEY.as_dict(private=False)]}).encode()
_ORGANIZATION = "b5a1f9e6-0f3c-4a52-9b3e-3f8a1d2c4e5f"
_PROJECT = "7d0c2a44-6a53-4f0e-8f8e-1b2c3d4e5f60"
CLUSTER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True)
class Documented:
    """An issuer, what it says of a job beside the times, the conditions of a runner that means this
    job, what another job says instead, and where people find the run.
    """

    issuer: str
    claims: Mapping[str, Any]
    conditions: Mapping[str, str]
    another: Mapping[str, Any]
    link: str | None

    def token(self, audience: object, **other: Any) -> str:
        """What it says of the job to that audience, or with other claims of another one."""
        now = int(time.time())
        times = {"iat": now, "nbf": now - 5, "exp": now + 300}
        said = {**self.claims, **times, "iss": self.issuer, "aud": audience, **other}
        if "jti" in said:  # which is another of each token
            said["jti"] = str(uuid4())
        if self.issuer.startswith(CIRCLECI):  # it says no earliest time
            del said["nbf"]
        return jws.serialize_compact(
            {"alg": "RS256", "kid": _KEY.kid, "typ": "JWT"}, json.dumps(said), _KEY
        )


# GitHub Docs, "OpenID Connect reference", OIDC token claims.
_GITHUB = Documented(
    GITHUB,
    {
        "jti": "example-id",
        "sub": "repo:octo-org/octo-repo:environment:prod",
        "environment": "prod",
        "ref": "refs/heads/main",
        "sha": "9f3182061f1e2cca4702c368cbc039b7dc9d4485",
        "repository": "octo-org/octo-repo",
        "repository_owner": "octo-org",
        "actor_id": "12",
        "repository_visibility": "private",
        "repository_id": "74",
        "repository_owner_id": "65",
        "run_id": "5620",
        "run_number": "10",
        "run_attempt": "2",
        "runner_environment": "github-hosted",
        "actor": "octocat",
        "workflow": "plan",
        "head_ref": "",
        "base_ref": "",
        "event_name": "push",
        "ref_type": "branch",
        "job_workflow_ref": "octo-org/octo-repo/.github/workflows/plan.yml@refs/heads/main",
    },
    {"repository_id": "74", "event_name": "push", "ref": "refs/heads/main"},
    {"repository_id": "75"},
    "https://github.com/octo-org/octo-repo/actions/runs/5620",
)
# GitLab Docs, "ID token authentication", token payload.
_GITLAB = Documented(
    GITLAB,
    {
        "jti": "235b3a54-b797-45c7-ae9a-f72d7bc6ef5b",
        "sub": "project_path:my-group/my-project:ref_type:branch:ref:main",
        "namespace_id": "72",
        "namespace_path": "my-group",
        "project_id": "20",
        "project_path": "my-group/my-project",
        "user_id": "1",
        "user_login": "sample-user",
        "user_email": "sample-user@example.com",
        "user_identities": [{"provider": "github", "extern_uid": "2435223452345"}],
        "pipeline_id": "574",
        "pipeline_source": "push",
        "job_id": "302",
        "ref": "main",
        "ref_type": "branch",
        "ref_path": "refs/heads/main",
        "ref_protected": "true",
        "runner_id": 1,
        "runner_environment": "gitlab-hosted",
        "sha": "714a629c0b401fdce83e847fc9589983fc6f46bc",
        "project_visibility": "private",
        "ci_config_ref_uri": "gitlab.com/my-group/my-project//.gitlab-ci.yml@refs/heads/main",
        "ci_config_sha": "714a629c0b401fdce83e847fc9589983fc6f46bc",
    },
    {"project_id": "20", "ref": "main", "ref_protected": "true"},
    {"ref_protected": "false"},
    "https://gitlab.com/my-group/my-project/-/jobs/302",
)
# Buildkite Docs, "buildkite-agent oidc", claims.
_BUILDKITE = Documented(
    BUILDKITE,
    {
        "sub": "organization:acme-inc:pipeline:plan:ref:refs/heads/main:commit:9f318206:step:build",
        "organization_slug": "acme-inc",
        "pipeline_slug": "plan",
        "build_number": 1,
        "build_branch": "main",
        "build_tag": None,
        "build_commit": "9f3182061f1e2cca4702c368cbc039b7dc9d4485",
        "step_key": "build",
        "job_id": "0184990a-477b-4fa8-9968-496074483cee",
        "agent_id": "0184990a-4782-42b5-afc1-16715b10b8ff",
        "build_source": "ui",
        "runner_environment": "self-hosted",
    },
    {"organization_slug": "acme-inc", "pipeline_slug": "plan", "build_branch": "main"},
    {"build_branch": "somebody"},
    "https://buildkite.com/acme-inc/plan/builds/1",
)
# CircleCI Docs, "OpenID Connect tokens", format of $CIRCLE_OIDC_TOKEN_V2: without `jti`.
_CIRCLECI = Documented(
    f"{CIRCLECI}{_ORGANIZATION}",
    {
        "sub": f"org/{_ORGANIZATION}/project/{_PROJECT}/user/3f1c"
        "/vcs-origin/github.com/acme/network/vcs-ref/refs/heads/main",
        "oidc.circleci.com/project-id": _PROJECT,
        "oidc.circleci.com/workflow-id": "f9c1b2d3-0000-4c4c-9d9d-2e2e3f3f4a4a",
        "oidc.circleci.com/job-id": "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
        "oidc.circleci.com/vcs-origin": "github.com/acme/network",
        "oidc.circleci.com/vcs-ref": "refs/heads/main",
        "oidc.circleci.com/context-ids": ["a74579f1-2e7d-451e-b009-5c082ad2729e"],
        "oidc.circleci.com/ssh-rerun": False,
    },
    {
        "oidc.circleci.com/project-id": _PROJECT,
        "oidc.circleci.com/vcs-ref": "refs/heads/main",
    },
    {"oidc.circleci.com/project-id": _ORGANIZATION},
    "https://app.circleci.com/pipelines/workflows/f9c1b2d3-0000-4c4c-9d9d-2e2e3f3f4a4a",
)
# Kubernetes Docs, "Managing Service Accounts", schema for service account private claims.
KUBERNETES = Documented(
    CLUSTER,
    {
        "jti": "ea28ed49-2e11-4280-9ec5-bc3d1d84661a",
        "sub": "system:serviceaccount:infra:nightly",
        "kubernetes.io": {
            "namespace": "infra",
            "node": {"name": "127.0.0.1", "uid": "58456cb0-dd00-45ed-b797-5578fdceaced"},
            "pod": {"name": "nightly-69cbfb9798", "uid": "778a530c-b3f4-47c0-9cd5-ab018fb64f33"},
            "serviceaccount": {"name": "nightly", "uid": "a087d5a0-e1dd-43ec-93ac-f13d89cd13af"},
            "warnafter": 1700081020,
        },
    },
    {"sub": "system:serviceaccount:infra:nightly"},
    {"sub": "system:serviceaccount:infra:other"},
    None,
)
EVERY = (_GITHUB, _GITLAB, _BUILDKITE, _CIRCLECI, KUBERNETES)
ISSUERS = tuple(Issuer(one.issuer, _PUBLIC) for one in EVERY)
