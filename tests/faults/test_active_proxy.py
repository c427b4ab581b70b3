"""Whoever terminates TLS reads no value, and hands none of their own to a job.

The client is the real one, the service the real one, and the proxy's certificate is good.
"""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.kernel.variables import Category
from teamvars.protocol import Malformed, bundles, decoded, encoded
from teamvars.protocol.bundles import Delivered, Info, JobKey, deliver
from tests.faults.canaries import canary, finds
from tests.faults.jobs import JobService, open_job_service
from tests.support.commands import Done, Host
from tests.support.desk import Desk
from tests.support.jobs import job_token
from tests.support.terminating_proxy import Answered, Asked

EXCHANGE, DELIVER = "/oauth/token", "/actions/deliver"
FORGED = "forged-by-the-proxy"
SHOW = ("run", "--", "sh", "-c", 'echo "got $SECRET"; touch started')


@pytest.fixture(scope="module")
async def service(
    modules_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobService]:
    """A service with a secret in two workspaces."""
    host = Host(tmp_path_factory.mktemp("proxied")).having(database_url=modules_url)
    async with open_job_service(host) as service:
        yield service


@dataclass
class Eve:
    """Who has the proxy. She has a key of a job of her own, and one that signs."""

    service: JobService
    values: dict[str, str]
    key: JobKey = field(default_factory=JobKey.generate)
    signer: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    old: list[tuple[Asked, Answered]] = field(default_factory=list)
    """What a run before has asked and was answered."""
    exchanged: Answered | None = None

    def run(self, desk: Desk | None = None) -> Done:
        """The victim's job."""
        desk = desk or self.service.desk
        (desk.folder / "started").unlink(missing_ok=True)
        return desk.run(*SHOW)

    def note(self, asked: Asked, answered: Answered) -> Answered:
        """Lets it pass, and keeps it."""
        self.old.append((asked, answered))
        return answered

    def forge(self, asked: Asked, genuine: Answered) -> Answered:
        """A delivery to the job's own key, which only her signature shows to be none."""
        public = decoded(json.loads(asked.body)["data"]["attributes"]["public-key"])
        info = json.loads(parts_of(genuine)["info"])
        said = Info(**{**info, "only": tuple(info["only"])})
        one = Delivered("var-1", "SECRET", FORGED, Category.ENV, False, True, "1")
        made = deliver([one], said, public, self.signer)
        return with_parts(
            genuine, **{name: getattr(made, name) for name in ("info", "bundle", "signature")}
        )

    def reads(self, answered: Answered) -> bool:
        """Whether she can open what was answered."""
        if answered.status != 200:
            return False
        try:
            self.service.opened(answered.body, self.key)
        except Malformed:
            return False
        return True


def parts_of(answered: Answered) -> dict[str, bytes]:
    """What is delivered."""
    said = json.loads(answered.body)["data"]["attributes"]
    return {name: decoded(text) for name, text in said.items()}


def with_parts(answered: Answered, **parts: bytes) -> Answered:
    """The same answer with others in it."""
    document = json.loads(answered.body)
    document["data"]["attributes"] |= {name: encoded(part) for name, part in parts.items()}
    return replace(answered, body=json.dumps(document).encode())


@pytest.fixture
async def eve(service: JobService, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Eve]:
    """She has seen one run of the same job, and of a job of hers elsewhere."""
    monkeypatch.setenv("SSL_CERT_FILE", str(service.proxy.authority))
    values = {"network": canary().replace("\n", ""), "payments": canary().replace("\n", "")}
    for workspace, value in values.items():
        await service.put({"SECRET": value}, workspace)
    eve = Eve(service, values)
    service.proxy.heard.clear()
    service.proxy.passes_on()
    service.proxy.back = eve.note
    done = eve.run()
    assert done.out == f"got {values['network']}\n", done.err
    assert (service.desk.folder / "started").exists()
    service.proxy.passes_on()
    yield eve
    service.proxy.passes_on()
    heard = b"\n".join(service.proxy.heard)
    assert b'"bundle"' in heard
    assert not finds(heard, *values.values())


There = Callable[[Eve, Asked], Asked | Answered]
Back = Callable[[Eve, Asked, Answered], Answered]


def altered_form(**more: str) -> There:
    """Exchanges with something else in the form."""

    def there(_: Eve, asked: Asked) -> Asked:
        if asked.path != EXCHANGE:
            return asked
        return replace(asked, body=urlencode(dict(parse_qsl(asked.body.decode())) | more).encode())

    return there


def own_thumbprint(eve: Eve, asked: Asked) -> Asked | Answered:
    return altered_form(thumbprint=eve.key.thumbprint)(eve, asked)


def own_key(eve: Eve, asked: Asked) -> Asked:
    """Asks for a delivery to her key."""
    if not asked.path.endswith(DELIVER):
        return asked
    document = json.loads(asked.body)
    document["data"]["attributes"]["public-key"] = encoded(eve.key.public)
    return replace(asked, body=json.dumps(document).encode())


def left_out(_: Eve, asked: Asked) -> Asked:
    """Has the service leave out what the job asked for."""
    if not asked.path.endswith(DELIVER):
        return asked
    document = json.loads(asked.body)
    document["data"]["attributes"]["only"] = ["NOTHING"]
    return replace(asked, body=json.dumps(document).encode())


def another_workspace(eve: Eve, asked: Asked) -> Asked:
    """Has the job handed what it may be handed, but has not asked for."""
    one, other = (eve.service.workspace(name) for name in ("network", "payments"))
    path, body = asked.path.replace(one, other), asked.body.replace(one.encode(), other.encode())
    return replace(asked, path=path, body=body)


def made_up_token(_: Eve, asked: Asked) -> Asked | Answered:
    """Answers the exchange herself."""
    if asked.path != EXCHANGE:
        return asked
    said = {"access_token": "tvr_" + "A" * 49, "token_type": "Bearer", "expires_in": 60}
    body = json.dumps({**said, "runner": "run-1", "version": 1}).encode()
    return Answered(200, {"Content-Type": "application/json"}, body)


def elsewhere(path: str) -> There:
    """Sends the client to another place."""

    def there(eve: Eve, asked: Asked) -> Asked | Answered:
        if not asked.path.endswith(path):
            return asked
        return Answered(307, {"Location": f"{eve.service.proxy.target}{asked.path}"}, b"")

    return there


def delivered(alter: Callable[[Eve, Asked, Answered], Answered]) -> Back:
    """Alters what is delivered, and nothing else."""

    def back(eve: Eve, asked: Asked, answered: Answered) -> Answered:
        return alter(eve, asked, answered) if asked.path.endswith(DELIVER) else answered

    return back


def later_end(_: Eve, __: Asked, answered: Answered) -> Answered:
    info = json.loads(parts_of(answered)["info"])
    info["expires_at"] += 3600
    return with_parts(answered, info=json.dumps(info, separators=(",", ":")).encode())


def own_signature(eve: Eve, _: Asked, answered: Answered) -> Answered:
    return with_parts(answered, signature=eve.signer.sign(parts_of(answered)["bundle"]))


def another_runner(eve: Eve, asked: Asked, answered: Answered) -> Answered:
    """Says that another runner's token was given."""
    if asked.path != EXCHANGE or answered.status != 200:
        return answered
    said = json.loads(answered.body) | {"runner": eve.service.runner}
    return replace(answered, body=json.dumps(said).encode())


def older(eve: Eve, _: Asked, __: Answered) -> Answered:
    return eve.old[-1][1]


def nothing_there(_: Eve, asked: Asked) -> Asked:
    return asked


def nothing_back(_: Eve, __: Asked, answered: Answered) -> Answered:
    return answered


UNSIGNED, UNASKED = "is not signed with the key", "was not asked for"
ATTACKS: dict[str, tuple[There, Back, str]] = {
    "her key": (own_key, nothing_back, "it answered 422"),
    "her thumbprint": (own_thumbprint, nothing_back, "takes no token"),
    "a runner that means another job": (
        altered_form(runner="run-1111111111111111"),
        nothing_back,
        "no approved runner",
    ),
    "another workspace": (another_workspace, nothing_back, UNASKED),
    "something left out": (left_out, nothing_back, UNASKED),
    "a token that she has made up": (made_up_token, nothing_back, "it answered 401"),
    "an exchange elsewhere": (elsewhere(EXCHANGE), nothing_back, "it answered 307"),
    "a delivery elsewhere": (elsewhere(DELIVER), nothing_back, "it answered 307"),
    "another runner": (nothing_there, another_runner, UNASKED),
    "a delivery of hers": (nothing_there, delivered(Eve.forge), UNSIGNED),
    "a signature of hers": (nothing_there, delivered(own_signature), UNSIGNED),
    "a later end": (nothing_there, delivered(later_end), UNSIGNED),
    "an older delivery": (nothing_there, delivered(older), UNSIGNED),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_proxy_alters_hands_it_nothing_and_starts_nothing(eve: Eve, attack: str) -> None:
    there, back, told = ATTACKS[attack]
    answers: list[Answered] = []

    def noted(asked: Asked, answered: Answered) -> Answered:
        answers.append(answered)
        return back(eve, asked, answered)

    eve.service.proxy.there = lambda asked: there(eve, asked)
    eve.service.proxy.back = noted
    refused = eve.run()
    assert (refused.code, refused.out) == (125, ""), refused.err
    assert told in refused.err
    assert not (eve.service.desk.folder / "started").exists()
    assert not finds(refused.err.encode(), *eve.values.values())
    assert not any(eve.reads(answered) for answered in answers if b'"bundle"' in answered.body)


def test_what_a_proxy_has_recorded_it_replays_for_nothing(eve: Eve) -> None:
    proxy = eve.service.proxy
    for asked, _ in eve.old:
        for sent in (asked, own_thumbprint(eve, asked), own_key(eve, asked)):
            assert isinstance(sent, Asked)
            answered = proxy.ask(sent)
            # The token of the job is good for its key, which she does not have.
            assert (answered.status == 200) == (asked.path != EXCHANGE and sent is asked)
            assert not eve.reads(answered)
            proxy.heard.append(answered.body)


def test_the_pin_is_what_keeps_out_what_a_proxy_has_made(eve: Eve) -> None:
    """The control: who pins her key is handed what she forges."""
    desk = eve.service.desk.having(server_key=bundles.shown_keys([eve.signer.public_key()]))
    eve.service.proxy.back = lambda asked, answered: delivered(Eve.forge)(eve, asked, answered)
    assert eve.run(desk).out == f"got {FORGED}\n"


def test_without_a_pin_a_job_asks_for_nothing(eve: Eve) -> None:
    before = len(eve.service.proxy.heard)
    told = given(eve).having(server_key="").run("run", "--", "true")
    assert told.code == 125
    assert "server-key show" in told.err
    assert len(eve.service.proxy.heard) == before


def given(eve: Eve) -> Desk:
    """A job whose token was there from the start, and names no key."""
    token = job_token(None, aud=eve.service.proxy.url)
    (home := eve.service.desk.folder / "unbound").mkdir(exist_ok=True)
    return replace(eve.service.desk, home=home).having(id_token=token)


def test_of_an_unbound_job_a_proxy_gets_the_values_and_the_job_fails(eve: Eve) -> None:
    """The other control, and what the documents say."""
    assert eve.run(given(eve)).out == f"got {eve.values['network']}\n"
    read: list[str] = []

    def back(asked: Asked, answered: Answered) -> Answered:
        if asked.path.endswith(DELIVER) and answered.status == 200:
            read.extend(
                one.value for one in eve.service.opened(answered.body, eve.key)[1] if one.value
            )
        return answered

    eve.service.proxy.there = lambda asked: own_key(eve, own_form(eve, asked))
    eve.service.proxy.back = back
    refused = eve.run(given(eve))
    assert (refused.code, refused.out) == (125, "")
    assert read == [eve.values["network"]]


def own_form(eve: Eve, asked: Asked) -> Asked:
    found = own_thumbprint(eve, asked)
    assert isinstance(found, Asked)
    return found


@pytest.mark.parametrize("path", [EXCHANGE, DELIVER])
def test_a_job_whose_answers_are_lost_asks_again_for_itself(eve: Eve, path: str) -> None:
    lost: list[Answered] = []

    def back(asked: Asked, answered: Answered) -> Answered | None:
        if asked.path.endswith(path) and len(lost) < 2 and answered.status == 200:
            lost.append(answered)
            return None
        return answered

    eve.service.proxy.back = back
    done = eve.run()
    assert (done.out, len(lost)) == (f"got {eve.values['network']}\n", 2), done.err
    lost.clear()
    unbound = eve.run(given(eve))
    if path == DELIVER:
        assert unbound.out == f"got {eve.values['network']}\n"
    else:
        assert unbound.code == 125
        assert "The answer to it was lost on the way: run the job again." in unbound.err
