"""Where the locale knows ASCII alone, other letters go through, or a sentence refuses them."""

import sys

from tests.support.desk import Desk, LoadingDesk

# Without these Python leaves such a locale for UTF-8 by itself.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
SHOW = "import os, sys; print(os.environb[b'NAME'], os.fsencode(sys.argv[1]), ascii(sys.argv[2]))"


class Abroad(LoadingDesk):
    """A desk in such a locale."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **ASCII}


def test_a_locale_without_the_letters_changes_no_value_and_no_argument(network: Desk) -> None:
    abroad = Abroad(network.folder, network.settings, network.home)
    abroad.succeed("vars", "set", "NAME=Zürich €")
    assert abroad.succeed("vars", "get", "NAME", "--plain").out == "Zürich €"
    words = (sys.executable, "-c", SHOW, "é", "plain")
    done = abroad.succeed("run", "--", *words)
    assert done.out == f"{'Zürich €'.encode()!r} {'é'.encode()!r} 'plain'\n"
    assert "Zürich €" in network.succeed("vars", "list").out


def test_letters_that_are_typed_and_not_known_are_refused(network: Desk) -> None:
    abroad = Abroad(network.folder, network.settings, network.home)
    with abroad.terminal("vars", "set", "NAME") as terminal:
        terminal.expect("NAME: ")
        terminal.type("Zürich")
        terminal.expect("the locale does not know")
        assert terminal.wait() == 2
    assert network.run("vars", "get", "NAME").code == 5
