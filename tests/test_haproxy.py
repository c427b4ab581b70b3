"""The haproxy of docs/high-availability.md, which the fault runs put in front of two nodes."""

import subprocess
from pathlib import Path

from tests.support import haproxy, packages


def test_haproxy_takes_the_file_of_the_document_without_a_warning(tmp_path: Path) -> None:
    (file := tmp_path / "haproxy.cfg").write_text(haproxy.configuration(tmp_path, 8080, (1, 2)))
    program = packages.program("haproxy", "haproxy")
    done = subprocess.run(
        [program, "-dW", "-c", "-f", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
