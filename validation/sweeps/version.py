"""Version of what computes a result: a hash of the source that it hangs on.

The files are those that a module imports, and those that these import, within the three packages.
A package that only hands names on stands for the file of the name that is imported, and a registry
for all files that put something into it.
Comments, docstrings and blank lines do not count, nor do files that draw, parse arguments or print.
So a change of the words or of a figure's colour leaves the version as it is, and a change of any
line that may have computed the result does not.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_OURS: Final = ("phasefit", "qmodels", "validation")
#: Parts of a module's name that say that it computes nothing: it draws, prints, or hands out work.
_ASIDE: Final = frozenset({"plotting", "commands", "pages", "cli", "report", "words", "sweeps"})
#: Tables that a module names in a text, in this folder.
_PUBLISHED: Final = ("validation.papers", "published")
#: A text, whatever its quotes, or a comment; what stands first in a source is found first.
_TEXT_OR_COMMENT: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\''''
    r"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(#[^\n]*)""",
    re.DOTALL,
)
#: Versions found before, beside the compiled files, and how many.
_NOTES: Final = Path(__file__).parent / "__pycache__" / "versions.json"
_MOST_NOTED: Final = 64
#: Where a statement holds others.
_WITHIN: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def code_version(*modules: str) -> str:
    """Return the version of the source that some modules hang on.

    Parameters
    ----------
    *modules : str
        Names such as "validation.sharing.simulator".

    Returns
    -------
    str
        16 hexadecimal digits, the same on every machine and every Python.

    Raises
    ------
    KeyError
        If there is no such module.

    Examples
    --------
    >>> code_version("phasefit.phase_type") == code_version("phasefit.phase_type")
    True
    >>> code_version("phasefit.phase_type") == code_version("validation.sharing.simulator")
    False
    """
    return _noted_or_read_version(tuple(sorted(set(modules))))


@lru_cache(maxsize=256)  # of short texts
def _noted_or_read_version(modules: tuple[str, ...]) -> str:
    """The version as it was noted for these very files, or read from them: half a second."""
    noted, key = _noted_versions(), " ".join((_state_of_files(), *modules))
    if key in noted:
        return noted[key]
    hashed = hashlib.sha256()
    for file in sorted(source_files(*modules)):
        hashed.update(f"{file}\0{_code_and_imports(_path(file))[0]}\0".encode())
    version = hashed.hexdigest()[:16]
    _write_versions({**dict([*noted.items()][1 - _MOST_NOTED :]), key: version})
    return version


def _state_of_files() -> str:
    """Digest of when every source was written and how long it is; nobody can set the first."""
    hashed = hashlib.sha256()
    for package in _OURS:
        for folder, below, files in os.walk(_packages_folder(package) / package):
            below.sort()
            for name in sorted(files):
                if name.endswith((".py", ".pyi", ".csv")):
                    file = os.stat(os.path.join(folder, name))
                    told = f"{folder}/{name} {file.st_ctime_ns} {file.st_mtime_ns} {file.st_size}\n"
                    hashed.update(told.encode())
    return hashed.hexdigest()[:32]


def _noted_versions() -> dict[str, str]:
    """Versions noted before, by the state of the files and the modules."""
    try:
        versions = json.loads(_NOTES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in versions.items()} if type(versions) is dict else {}


def _write_versions(versions: dict[str, str]) -> None:
    """Write them down, all at once; where nobody may write there, the next one reads again."""
    if sys.dont_write_bytecode:
        return
    part = _NOTES.with_name(f"{_NOTES.name}.{os.getpid()}")
    with suppress(OSError):
        part.write_text(json.dumps(versions), encoding="utf-8")
        os.replace(part, _NOTES)


def source_files(*modules: str) -> set[str]:
    """Return the files that some modules hang on, relative to the folder of the packages.

    Their own are included.

    Parameters
    ----------
    *modules : str
        Names such as "validation.sharing.simulator".

    Raises
    ------
    KeyError
        If there is no such module.
    """
    todo, seen = [], set()
    for module in modules:
        if (start := _file_of(module)) is None:
            raise KeyError(module)
        todo.append(start)
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        todo += (each for each in _code_and_imports(_path(file))[1] if each not in seen)
    return seen


@cache  # one path for each of three packages
def _packages_folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))).parent


def _path(file: str) -> Path:
    return _packages_folder(file.partition("/")[0].removesuffix(".py")) / file


@lru_cache(maxsize=16_384)  # of names
def _file_of(module: str) -> str | None:
    """The file of a module, or of a package its stub before its __init__."""
    if module.partition(".")[0] not in _OURS:
        return None
    base = module.replace(".", "/")
    for file in (f"{base}.py", f"{base}/__init__.pyi", f"{base}/__init__.py"):
        if _path(file).is_file():
            return file
    return None


@lru_cache(maxsize=1024)  # of the texts of a few hundred files, some 3 MB
def _code_and_imports(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return a file's code without its words, and the files that it imports."""
    if path.suffix == ".csv":
        return path.read_text(encoding="utf-8"), ()
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    package = _package_of(path)
    statements = [*_statements(tree)]
    imported = dict.fromkeys(_imported_files(statements, package))
    if "Registry(" in source:
        imported |= dict.fromkeys(_registered_files(path, tree))
    if ".csv" in source:
        texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
        imported |= dict.fromkeys(_imported_files(texts, package))
    return _without_words(source, statements), tuple(imported)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements; they stand in few places, and most of a tree is expressions."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        for field in _WITHIN:
            held = getattr(node, field, ())
            if isinstance(held, list):  # the body of a lambda is an expression
                todo += held


def _package_of(path: Path) -> str:
    below = next(
        path.relative_to(_packages_folder(p)) for p in _OURS if path.is_relative_to(_packages_folder(p) / p)
    )
    return ".".join(below.parts[:-1])


def _imported_files(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # stubs import relatively
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join([*above, module] if module else above)
            for name in node.names:
                # of a package: one of its modules, or what its __init__ hands on
                submodule = f"{module}.{name.name}"
                chosen = submodule if _file_of(submodule) else module
                if (file := _counted(chosen)) is not None:
                    yield _file_of_name(file, name.name)
        elif isinstance(node, ast.Import):
            yield from filter(None, (_counted(name.name) for name in node.names))
        elif isinstance(node, ast.Constant) and str(node.value).endswith(".csv"):
            table = "/".join((*_PUBLISHED[0].split("."), _PUBLISHED[1], str(node.value)))
            if _path(table).is_file():
                yield table


def _registered_files(path: Path, tree: ast.Module) -> Iterator[str]:
    """Files beside a registry that put something into it: what is asked for by name is found so."""
    held = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    made = {ast.unparse(node.target): node.value for node in held}
    names = [name for name, by in made.items() if by and "Registry(" in ast.unparse(by)]
    if not names:
        return
    ways = ("@register\n", *(f"@{name}.register\n" for name in names))
    registry = f"{_package_of(path)}.{path.stem}"
    for beside in sorted(path.parent.glob("*.py")):
        source = beside.read_text(encoding="utf-8")
        if registry in source and any(way in source for way in ways):
            yield f"{_package_of(path).replace('.', '/')}/{beside.name}"


def _counted(module: str) -> str | None:
    return None if _ASIDE.intersection(module.split(".")) else _file_of(module)


@lru_cache(maxsize=4096)
def _file_of_name(file: str, name: str) -> str:
    """Of a package that only hands names on, the file of one name; else the file itself."""
    if Path(file).name not in ("__init__.py", "__init__.pyi"):
        return file
    body = ast.parse(_path(file).read_text(encoding="utf-8")).body
    if not all(_only_hands_on(node) for node in body):
        return file
    package = ".".join(Path(file).parts[:-1])
    for node in body:
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                if name == (each.asname or each.name):
                    alone = ast.ImportFrom(module=node.module, names=[each], level=node.level)
                    return next(_imported_files([alone], package), file)
    return file


def _only_hands_on(node: ast.stmt) -> bool:
    """Return whether a statement is an import, a text by itself, or the list of names."""
    if isinstance(node, ast.Assign):
        return [getattr(each, "id", "") for each in node.targets] == ["__all__"]
    by_itself = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return by_itself or isinstance(node, ast.Import | ast.ImportFrom)


def _without_words(source: str, statements: Iterable[ast.AST]) -> str:
    """A source without its comments, docstrings and blank lines."""
    lines: list[str] = source.splitlines()
    for node in statements:
        # A text that stands by itself does nothing; a file may have more than one such line.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if not isinstance(node.value.value, str) or _shares_its_lines(node, lines):
                continue
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    row = seen = 0
    for match in _TEXT_OR_COMMENT.finditer(source):
        if match.group(1) is None:
            continue
        start = match.start()
        row += source.count("\n", seen, start)
        seen = start
        if lines[row]:
            lines[row] = lines[row][: start - source.rfind("\n", 0, start) - 1]
    return "\n".join(kept for line in lines if (kept := line.rstrip()))


def _shares_its_lines(node: ast.Expr, lines: list[str]) -> bool:
    """Return whether something else stands on the first or last line of an expression."""
    end = node.end_lineno or node.lineno
    before = lines[node.lineno - 1].encode()[: node.col_offset].strip()
    after = lines[end - 1].encode()[node.end_col_offset :].strip()
    return bool(before) or bool(after and not after.startswith(b"#"))
