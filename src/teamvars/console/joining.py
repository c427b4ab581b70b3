"""Modules that are wanted together, in one file: a browser takes milliseconds for each that it asks
for, even of those that it has kept.

Each is a function there, whose exports are an object in which all others find them. So this knows
how our modules are written: imports are whole lines, of names or of everything, exports stand where
functions, classes and constants are declared, and no module imports one that imports it.
"""

import re
from collections.abc import Mapping, Sequence

_IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def join(sources: Mapping[str, str], files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The modules as they are served: those of a file are in it alone, and others ask it for them.

    All by their names, without `.js`; the modules of a file are in order. It is called as the last
    of them, whose exports it has. Raises `ValueError` for a module of a file that is written
    otherwise.
    """
    place = {module: file for file, modules in files.items() for module in modules}
    served = {
        name: _IMPORT.sub(lambda found: _asked(found, place), text)
        for name, text in sources.items()
        if name not in place
    }
    return served | {file: _file(sources, place, modules) for file, modules in files.items()}


def in_order(
    starts: Sequence[str], imports: Mapping[str, Sequence[str]], but: Sequence[str] = ()
) -> list[str]:
    """These and what they cannot be without, each behind what it imports itself; `but` some.

    `imports`: those of each module.
    """
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found and name not in but:
            for imported in imports[name]:
                visit(imported)
            found[name] = None

    for start in starts:
        visit(start)
    return list(found)


def imports_of(source: str) -> list[str]:
    """What a module imports, by name; not what it asks for when that is wanted."""
    return [name for _, name in _IMPORT.findall(source)]


def _asked(found: re.Match[str], place: Mapping[str, str]) -> str:
    names, module = found.groups()
    if module not in place:
        return found[0]
    return f'import {{ ${module} }} from "./{place[module]}.js"; {_taken(names, module)}'


def _taken(names: str, module: str) -> str:
    if names.startswith("{"):
        return f"const {names.replace(' as ', ': ')} = ${module};"
    return f"const {names.removeprefix('* as ')} = ${module};"


def _file(sources: Mapping[str, str], place: Mapping[str, str], modules: Sequence[str]) -> str:
    others = {
        one: None for name in modules for one in imports_of(sources[name]) if one not in modules
    }
    heads = [
        f'import {{ ${one} }} from "./{place[one]}.js";'
        if one in place
        else f'import * as ${one} from "./{one}.js";'
        for one in others
    ]
    bodies = [_function(name, sources[name]) for name in modules]
    own = ", ".join(_EXPORT.findall(sources[modules[-1]]))
    ends = [f"export {{ {', '.join(f'${one}' for one in modules)} }};"]
    if own:
        ends.append(f"export const {{ {own} }} = ${modules[-1]};")
    return "\n".join([*heads, *bodies, *ends, ""])


def _function(name: str, source: str) -> str:
    exports = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: _taken(*found.groups()), source))
    unknown = _UNKNOWN.search(body)
    if unknown:
        raise ValueError(f"{name}.js cannot be joined with others: {unknown[0]}")
    return f"const ${name} = (() => {{ // {name}.js\n{body}return {{ {exports} }};\n}})();"
