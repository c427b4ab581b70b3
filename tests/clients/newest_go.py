"""A Go that is new enough for go-tfe: that of this machine, or one that an older Go fetches.

All of it is under `.cache`. Modules have their checksums in `go.sum`; that of Go itself is here.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.support import packages

NEEDED = (1, 26, 4)
MODULE = "golang.org/toolchain@v0.0.1-go1.26.4.linux-amd64"
CHECKSUM = "h1:wAoHYF9gHXZdyCyZT4yuWhbjdIC/Iv5dpQsE+H3FgGU="
CACHE = Path(__file__).parents[2] / ".cache" / "go"
DEBIAN = "golang-go"
MINUTES = 20
MISSING = f"""\
There is no Go here, and none can be installed. Any will do, since it fetches the one that is needed
({".".join(map(str, NEEDED))}) on Linux for x86-64. On Debian: apt-get install {DEBIAN}"""


class NoGoError(Exception):
    """There is none that is new enough, nor one to fetch it with; says what to do."""


def find() -> Path:
    """The program. Raises NoGoError where there is none to be had."""
    found = shutil.which("go")
    if found is None:
        packages.install(DEBIAN)
        found = shutil.which("go")
    if found is None:
        raise NoGoError(MISSING)
    return Path(found) if version_of(found) >= NEEDED else _fetched(found)


def version_of(go: str) -> tuple[int, ...]:
    """The version of a Go, of which the least part may be lacking."""
    said = call(go, "version").stdout
    found = re.search(r"\bgo(\d+(?:\.\d+)*)", said)
    return tuple(map(int, found[1].split("."))) if found else (0,)


def call(
    go: str | Path, *words: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A command of Go, which changes no module and leaves nothing outside `.cache`."""
    CACHE.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "GOPATH": str(CACHE),
        "GOMODCACHE": str(CACHE / "mod"),
        "GOCACHE": str(CACHE / "build"),
        # Without paths: what one checkout builds is of use in each that has a copy of `.cache`.
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false -trimpath",
        "GOSUMDB": "off",  # the sums are here: nobody else has to be asked
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "CGO_ENABLED": "0",  # nothing here is written in C
        "GOGC": "400",  # the compiler is soon done: it has memory to let lie
    }
    return subprocess.run(
        [go, *words],
        cwd=folder or CACHE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
        check=False,
    )


def _fetched(older: str) -> Path:
    done = call(older, "mod", "download", "-json", MODULE)
    if done.returncode != 0:
        raise NoGoError(f"{older} is too old, and cannot fetch {MODULE}: {done.stdout}")
    said = json.loads(done.stdout)
    if said["Sum"] != CHECKSUM:
        raise NoGoError(f"{MODULE} has the checksum {said['Sum']}, and not {CHECKSUM}.")
    folder = Path(said["Dir"])
    for program in (*folder.glob("bin/*"), *folder.glob("pkg/tool/*/*")):
        program.chmod(0o755)  # a module's files are not to be run
    return folder / "bin" / "go"
