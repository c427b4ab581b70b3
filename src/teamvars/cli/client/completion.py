"""`completion`: what a shell needs to complete words, and the words that it then asks for."""

import os
import sys

import click
from click.shell_completion import ShellComplete, split_arg_string

from teamvars.cli.exits import Misuse, writing
from teamvars.cli.options import argument, command

_BASH = """\
_teamvars_completion() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
        env _TEAMVARS_LINE="${COMP_LINE:0:COMP_POINT}" _TEAMVARS_BREAKS="$COMP_WORDBREAKS" \\
            _TEAMVARS_COMPLETE=complete_bash "$1"
    )
}
complete -o default -F _teamvars_completion teamvars"""
_ZSH = """\
#compdef teamvars
_teamvars_completion() {
    local -a offered
    offered=("${(@f)$(env _TEAMVARS_LINE="${words[1,CURRENT]}" \\
        _TEAMVARS_COMPLETE=complete_zsh teamvars)}")
    if [[ -n "$offered" ]]; then
        _describe teamvars offered
    else
        _files
    fi
}
compdef _teamvars_completion teamvars"""
_FISH = """\
function _teamvars_completion
    set -l offered (env _TEAMVARS_LINE=(commandline -cp | string collect) \\
        _TEAMVARS_COMPLETE=complete_fish teamvars)
    if set -q offered[1]
        printf '%s\\n' $offered
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command teamvars --no-files --arguments '(_teamvars_completion)'"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@command
@argument("shell", "bash, zsh or fish.", metavar="SHELL")
def completion(shell: str) -> None:
    """Print a script that completes commands, options and names.

    For bash, put this line into ~/.bashrc, and the like for zsh and fish:

    eval "$(teamvars completion bash)"

    Example: teamvars completion bash
    """
    if shell not in _SCRIPTS:
        raise Misuse(f"It is one of {', '.join(_SCRIPTS)}.")
    with writing(sys.stdout):
        click.echo(_SCRIPTS[shell])


def answer(program: click.Command, asked: str) -> None:
    """Prints the words that a script of `completion` asks for, a line each; `asked` names the
    shell. Without any the shell offers files, as it does by itself.
    """
    shell, line = asked.removeprefix("complete_"), os.environ.get("_TEAMVARS_LINE")
    if shell not in _SCRIPTS or line is None:
        return
    before, word = _words(line)
    # What stands behind the '=' of an option is a word to us alone.
    option = word[: word.find("=") + 1] if word.startswith("-") else ""
    # To bash also what stands behind one of these, of which it wants no more.
    breaks = os.environ.get("_TEAMVARS_BREAKS", "").split()
    begun = 1 + max(map(word.rfind, "".join(breaks)), default=-1)
    is_bare = not line.removesuffix(word[begun:]).endswith(("'", '"'))
    for item in ShellComplete(program, {}, "teamvars", asked).get_completions(before, word):
        value = f"{option}{item.value}"[begun:]
        if shell == "zsh":
            value = value.replace(":", r"\:")
        elif shell == "bash" and is_bare:  # the others quote by themselves
            value = value.replace(" ", r"\ ")
        # For a shell that shows it, also what it stands for.
        between = {"zsh": ":", "fish": "\t"}.get(shell)
        with writing(sys.stdout):
            click.echo(f"{value}{between}{item.help}" if between and item.help else value)


def _words(line: str) -> tuple[list[str], str]:
    """The words behind the command in a line that ends where somebody types, and, apart, the one
    that is being typed, which may be empty.
    """
    *before, word = split_arg_string(f"{line}\0")
    return before[1:], word.removesuffix("\0")
