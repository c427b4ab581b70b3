"""Jobs of others: which claims of a token about a job have to be what, for each kind of issuer.

A token that an issuer signs for a job says where that job comes from. Nearly everybody on a public
issuer can have some token for our audience, so conditions have to name one place (contract §8).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from urllib.parse import quote

import msgspec

from teamvars.domain.errors import Code, Fault

MAX_CONDITIONS = 20
MAX_CONDITION_CHARACTERS = 512

Claims = Mapping[str, object]
Conditions = Mapping[str, str]


class IssuerKind(Enum):
    """Who signs, as far as it matters for what conditions must name."""

    GITHUB = "github"
    GITLAB = "gitlab"
    BUILDKITE = "buildkite"
    CIRCLECI = "circleci"
    KUBERNETES = "kubernetes"
    OTHER = "other"


GITHUB = "https://token.actions.githubusercontent.com"
GITLAB = "https://gitlab.com"
BUILDKITE = "https://agent.buildkite.com"
CIRCLECI = "https://oidc.circleci.com/org/"
"""What comes before the organization."""
_KINDS = {
    GITHUB: IssuerKind.GITHUB,
    GITLAB: IssuerKind.GITLAB,
    BUILDKITE: IssuerKind.BUILDKITE,
}
_OF_CLUSTER = re.compile(r"https://kubernetes\.default\.svc(\.|$)")

_OF_EVERY_TOKEN = frozenset({"iss", "aud", "exp", "nbf", "iat", "jti"})
"""Claims that tell no job from another."""


# A GitLab of one's own says the same as GitLab.com.
_RUN_OF_GITLAB = ("project_path", "job_id"), "{issuer}/{}/-/jobs/{}"
_RUNS = {
    IssuerKind.GITHUB: (("repository", "run_id"), "https://github.com/{}/actions/runs/{}"),
    IssuerKind.BUILDKITE: (
        ("organization_slug", "pipeline_slug", "build_number"),
        "https://buildkite.com/{}/{}/builds/{}",
    ),
    IssuerKind.CIRCLECI: (
        ("oidc.circleci.com/workflow-id",),
        "https://app.circleci.com/pipelines/workflows/{}",
    ),
}


class _Rule(msgspec.Struct, frozen=True):
    """What conditions must name: all of `always`, and one of `either` if there are any.

    Claims that are `judged` may not be everything: what refuses a condition, and why.
    """

    always: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    judged: Mapping[str, tuple[Callable[[str | None], bool], str]] = {}


_FOREIGN_EVENTS = {"pull_request_target", "workflow_run", "issue_comment"}
_RULES = {
    IssuerKind.GITHUB: _Rule(
        ("repository_id", "event_name"),
        ("environment", "job_workflow_ref", "ref"),
        {
            "event_name": (
                _FOREIGN_EVENTS.__contains__,
                "Jobs of this event can run code of strangers with the rights of the repository.",
            )
        },
    ),
    IssuerKind.GITLAB: _Rule(
        ("project_id", "ref", "ref_protected"),
        judged={
            "ref_protected": (
                lambda wanted: wanted not in (None, "true"),
                "This has to be 'true': more people push to branches that are not protected.",
            )
        },
    ),
    IssuerKind.KUBERNETES: _Rule(("sub",)),
}
_ELSEWHERE = _Rule()


def kind_of(issuer: str) -> IssuerKind:
    """The kind of the issuer with that `iss`."""
    if _OF_CLUSTER.match(issuer):
        return IssuerKind.KUBERNETES
    if issuer.startswith(CIRCLECI):
        return IssuerKind.CIRCLECI
    return _KINDS.get(issuer, IssuerKind.OTHER)


def condition_faults(issuer: str, conditions: Conditions) -> Iterator[Fault]:
    """What is wrong with the conditions of a runner: among others, all that names no one place."""
    if len(conditions) > MAX_CONDITIONS:
        yield _fault(f"There are at most {MAX_CONDITIONS} conditions.", code=Code.TOO_MANY_ITEMS)
    for claim, wanted in conditions.items():
        if (detail := _not_compared(claim, wanted)) is not None:
            # No answer has room for the place of a name of any length.
            yield _fault(detail, claim if len(claim) <= MAX_CONDITION_CHARACTERS else None)
    rule = _RULES.get(kind_of(issuer), _ELSEWHERE)
    yield from _left_open(rule, conditions)
    for claim, (is_refused, detail) in rule.judged.items():
        if is_refused(conditions.get(claim)):
            yield _fault(detail, claim)


def _not_compared(claim: str, wanted: str) -> str | None:
    """Why a claim cannot be compared with that, if so."""
    if claim in _OF_EVERY_TOKEN:
        return f"'{claim}' tells no job from another. Leave it out."
    if not all(0 < len(text) <= MAX_CONDITION_CHARACTERS for text in (claim, wanted)):
        most = MAX_CONDITION_CHARACTERS
        return f"The name of a claim, and what it has to be, have 1 to {most} characters."
    if "*" in wanted and not _may_have_any(claim, wanted):
        return "Only 'ref' takes a '*', and only as a whole segment: refs/heads/release/*."
    return None


def _left_open(rule: _Rule, conditions: Conditions) -> Iterator[Fault]:
    """What lets in jobs of more than one place."""
    for claim in rule.always:
        if claim not in conditions:
            yield _fault(f"Jobs of this issuer are told apart by '{claim}' as well.", claim)
    if rule.either and not conditions.keys() & set(rule.either):
        words = " or ".join(f"'{claim}'" for claim in rule.either)
        yield _fault(f"Name {words} too: else every branch that anybody pushes is let in.")
    told = conditions.keys() - _OF_EVERY_TOKEN
    if rule is _ELSEWHERE and "sub" not in told and len(told) < 2:
        yield _fault("Name 'sub', or two claims: fewer let in every job of this issuer.")


def matches(conditions: Conditions, claims: Claims) -> bool:
    """Whether every condition is met, by a claim that is a text and that very one."""
    return not unmet(conditions, claims)


def unmet(conditions: Conditions, claims: Claims) -> list[str]:
    """The names of the claims that are not what they have to be."""
    return [
        claim
        for claim, wanted in conditions.items()
        if not _is_met(claim, wanted, claims.get(claim))
    ]


def run_link(issuer: str, claims: Claims) -> str | None:
    """Where people find the run of the job, if its claims say so."""
    names, link = _RUNS.get(kind_of(issuer), _RUN_OF_GITLAB)
    texts = [claims.get(name) for name in names]
    # Numbers as well: Buildkite counts builds.
    found = [quote(str(text)) for text in texts if type(text) in (str, int) and text]
    if len(found) < len(names) or not issuer.startswith("https://"):
        return None
    return link.format(*found, issuer=issuer.rstrip("/"))


def _may_have_any(claim: str, wanted: str) -> bool:
    first, *rest = wanted.split("/")
    return claim == "ref" and "*" not in first and all("*" not in s or s == "*" for s in rest)


def _is_met(claim: str, wanted: str, said: object) -> bool:
    if not isinstance(said, str):
        return False
    if claim != "ref":
        return said == wanted
    found, segments = said.split("/"), wanted.split("/")
    return len(found) == len(segments) and all(
        is_ == segment or (segment == "*" and is_ != "")
        for is_, segment in zip(found, segments, strict=True)
    )


def _fault(detail: str, claim: str | None = None, code: Code = Code.INVALID_VALUE) -> Fault:
    at = "/data/attributes/conditions"
    if claim is not None:
        at += "/" + claim.replace("~", "~0").replace("/", "~1")
    return Fault(code, detail, pointer=at)
