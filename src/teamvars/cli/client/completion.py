"""`completion`: what a shell needs to complete words, and the words that it then asks for."""

import sys

import click
from click.shell_completion import get_completion_class

from teamvars.cli.exits import Misuse, writing
from teamvars.cli.options import argument, command

_BASH = """\
_teamvars_completion() {
    mapfile -t COMPREPLY < <(
        env COMP_WORDS="$(printf '%s\\n' "${COMP_WORDS[@]}")" COMP_CWORD="$COMP_CWORD" \\
            _TEAMVARS_COMPLETE=complete_bash "$1"
    )
}
complete -o default -F _teamvars_completion teamvars"""
_ZSH = """\
#compdef teamvars
_teamvars_completion() {
    local -a offered
    offered=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \\
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
    set -l offered (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \\
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

    source <(teamvars completion bash)

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
    shell = asked.removeprefix("complete_")
    kind = get_completion_class(shell)
    if kind is None or shell not in _SCRIPTS:
        return
    waiting = kind(program, {}, "teamvars", asked)
    for item in waiting.get_completions(*waiting.get_completion_args()):
        value = str(item.value)
        if shell == "zsh":
            value = value.replace(":", r"\:")
        # For a shell that shows it, also what it stands for.
        between = {"zsh": ":", "fish": "\t"}.get(shell)
        with writing(sys.stdout):
            click.echo(f"{value}{between}{item.help}" if between and item.help else value)
