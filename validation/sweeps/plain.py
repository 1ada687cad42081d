"""Plain data: values as JSON text that is the same in every process, and back again.

The text of a task is what its key is made of; the text of a result is what a journal keeps. Only
numbers, names, arrays and records of this project are read back: no code comes out of a file.
"""

from __future__ import annotations

import ast
import base64
import datetime
import functools
import hashlib
import importlib
import importlib.util
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePath
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from qmodels.errors import ModelError

#: Packages whose records may be read back.
_OURS: Final = ("phasefit", "qmodels", "validation")
#: What names a class of a user's module.
_CLASS_NAMED: Final = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_]\w*", re.ASCII)
#: Types whose values are JSON's own.
_AS_IT_IS: Final = frozenset({type(None), bool, str, int})


class PlainDataError(ModelError):
    """A value that has no text of its own, such as an open file or a function within a function."""


def to_text(value: object) -> str:
    """Write a value as JSON; see `from_text`.

    Parameters
    ----------
    value : object
        Numbers, texts, None, lists, tuples, dictionaries, arrays, fractions, and records
        (dataclasses) of such.

    Returns
    -------
    str
        JSON.

    Raises
    ------
    PlainDataError
        If some part of it is none of these.

    Examples
    --------
    >>> to_text({"mean": 0.1, "runs": (1, 2)})
    '{"mean": 0.1, "runs": {"$tuple": [1, 2]}}'
    """
    return json.dumps(_encoded(value, keys=False), allow_nan=False)


def from_text(text: str) -> Any:
    """Return the value that `to_text` wrote, to the last bit.

    Parameters
    ----------
    text : str
        As `to_text` wrote it.

    Raises
    ------
    ModelError
        If the text is damaged, or names what is no record of this project.

    Examples
    --------
    >>> from_text(to_text((float("inf"), np.arange(2))))
    (inf, array([0, 1]))
    """
    try:
        return json.loads(text, object_hook=_decoded)
    except ModelError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelError(f"{text[:40]!r} is no value that was kept: {error}") from None


def canonical(value: object) -> str:
    """Return a text that two values share only if they are equal; what `digest` hashes.

    Besides what `to_text` takes, functions and classes at the top of a module, partial calls, sets,
    laws of scipy.stats and tables of pandas have one. Dictionaries are written in the order of
    their keys.

    Parameters
    ----------
    value : object
        The value.

    Raises
    ------
    PlainDataError
        If some part of the value has none.

    Examples
    --------
    >>> canonical({"b": 1, "a": 2.0}) == canonical({"a": 2.0, "b": 1})
    True
    >>> canonical({"b": 1, "a": 2.0}) == canonical({"b": 1, "a": 2})
    False
    """
    return json.dumps(_encoded(value, keys=True), sort_keys=True, separators=(",", ":"))


def digest(value: object) -> str:
    """Return the key of a value: 128 bits of the BLAKE2b hash of its canonical text, in hexadecimal.

    Parameters
    ----------
    value : object
        The value.

    Raises
    ------
    PlainDataError
        As for `canonical`.
    """
    return hashlib.blake2b(canonical(value).encode(), digest_size=16).hexdigest()


def _encoded(value: Any, *, keys: bool) -> Any:
    """The value as JSON has it; what JSON does not know in a dictionary with one key "$kind"."""
    kind = type(value)
    if keys and kind is str and (source := _source_of_named(value)):
        return {"$text": value, "source": source}
    if kind in _AS_IT_IS or (kind is float and math.isfinite(value)):  # most of what there is
        return value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Enum):
        return {"$name": _place_of(type(value)), "member": value.name}
    if isinstance(value, np.generic):
        return _encoded(value.item(), keys=keys)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if kind is tuple:
        return {"$tuple": [_encoded(each, keys=keys) for each in value]}
    within = functools.partial(_encoded, keys=keys)
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: within(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"$record": _place_with_source(type(value), keys), "fields": held}
    if isinstance(value, tuple):
        return {"$named": _place_of(type(value)), "values": [within(each) for each in value]}
    if isinstance(value, list):
        return [within(each) for each in value]
    if isinstance(value, np.ndarray):
        return _encoded_array(value, keys=keys)
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: within(each) for key, each in value.items()}
        pairs = [[within(key), within(each)] for key, each in value.items()]
        return {"$pairs": sorted(pairs, key=json.dumps) if keys else pairs}
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, datetime.datetime):
        return {"$time": value.isoformat()}
    if keys:
        return _encoded_for_key(value)
    raise PlainDataError(f"{value!r:.60} cannot be written as plain data")


def _encoded_array(value: np.ndarray[Any, Any], *, keys: bool) -> Any:
    if value.dtype.hasobject:
        return {
            "$objects": [_encoded(each, keys=keys) for each in value.ravel().tolist()],
            "shape": list(value.shape),
        }
    data, told = np.ascontiguousarray(value).tobytes(), {"shape": list(value.shape)}
    if keys:  # which need no way back: a log has millions of rows
        hashed = hashlib.blake2b(data, digest_size=16).hexdigest()
        return {"$array": value.dtype.str, **told, "hash": hashed}
    text = base64.b64encode(data).decode("ascii")
    return {"$array": value.dtype.str, **told, "data": text}


def _encoded_for_key(value: Any) -> Any:
    """Encode a value for a key only; it cannot be decoded."""
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return {"$name": _place_with_source(value, True)}
    if isinstance(value, MethodType):
        return {"$method": [value.__name__, _encoded(value.__self__, keys=True)]}
    if isinstance(value, functools.partial):
        parts = (value.func, value.args, value.keywords)
        return {"$partial": [_encoded(part, keys=True) for part in parts]}
    if isinstance(value, (set, frozenset)):
        return {"$set": sorted((_encoded(each, keys=True) for each in value), key=json.dumps)}
    if isinstance(value, PurePath):
        return {"$path": str(value)}
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # a law of scipy.stats with its numbers
        law = (value.dist.name, list(value.args), dict(value.kwds))
        return {"$law": [_encoded(part, keys=True) for part in law]}
    if isinstance(value, np.random.Generator):  # whose next draws its state tells
        return {"$generator": _encoded(value.bit_generator.state, keys=True)}
    if (table := _table_columns(value)) is not None:
        return {"$frame": [[name, _encoded_array(column, keys=True)] for name, column in table]}
    if hasattr(value, "__dict__") and not callable(value):
        return {"$object": _place_with_source(type(value), True), "state": _encoded(vars(value), keys=True)}
    raise PlainDataError(f"{value!r:.60} has no text to make a key of")


def _table_columns(value: Any) -> list[tuple[Any, np.ndarray[Any, Any]]] | None:
    """Names and values of a table of pandas, its index first; None if it is none."""
    pandas = sys.modules.get("pandas")  # whoever holds a table has it
    if pandas is None or not isinstance(value, (pandas.DataFrame, pandas.Series)):
        return None
    table = value.to_frame() if isinstance(value, pandas.Series) else value
    named = [(_encoded(name, keys=True), table.iloc[:, i].to_numpy()) for i, name in enumerate(table.columns)]
    return [("index", table.index.to_numpy()), *named]


def _place_with_source(value: Any, keys: bool) -> str:
    """Return where a class or function is defined; in keys with a hash of its source, if a user's.

    The source of this project is told by the version that goes into every key.
    """
    name = _place_of(value)
    module = name.partition(":")[0]
    if not keys or module.partition(".")[0] in _OURS:
        return name
    return f"{name} {source_hash(module)}"


def _source_of_named(text: str) -> str:
    """Hash of the source of a user's class that a text names, as "module:Class" does; "" for other texts."""
    named = _CLASS_NAMED.fullmatch(text)
    return source_hash(named[1]) if named and _is_own(named[1]) else ""


@functools.lru_cache(maxsize=256)
def source_hash(module: str) -> str:
    """Return the SHA-256 of the file of a module and of those in its folder that it imports; "" without one.

    Parameters
    ----------
    module : str
        Its name.
    """
    hashed, files = hashlib.sha256(), _own_files(module)
    for file in files:
        hashed.update(Path(file).read_bytes())
    return hashed.hexdigest() if files else ""


def _own_files(module: str) -> list[str]:
    """File of a module, then those of modules that it imports from its folder, and so on."""
    found: list[str] = []
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        beside = not found or Path(found[0]).parent in Path(file).parents
        if not file.endswith(".py") or file in found or not beside:
            continue
        found.append(file)
        package = name if file.endswith("__init__.py") else name.rpartition(".")[0]
        waiting += filter(_is_own, _imported(Path(file), package.split(".")))
    return found


def _imported(file: Path, package: list[str]) -> Iterator[str]:
    """Names of what a source imports, modules and what is in them."""
    with suppress(SyntaxError):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) + 1 - node.level] if node.level else []
                start = ".".join([*above, *filter(None, [node.module])])
                yield from (start, *(f"{start}.{each.name}" for each in node.names))


def _is_own(name: str) -> bool:
    """True for a module that is neither of this project, nor of Python, nor installed."""
    top = name.partition(".")[0]
    if not top or top in _OURS or top in sys.stdlib_module_names:
        return False
    return "site-packages" not in Path(_file_of(top)).parts


def _file_of(module: str) -> str:
    """File of a module; "" where it has none."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # such as the name of a class in a module
        return ""
    return "" if spec is None else spec.origin or ""


def _place_of(value: Any) -> str:
    """Return where a class or function is defined; PlainDataError if it has no place of its own."""
    module, name = getattr(value, "__module__", None), value.__qualname__
    if module is None or "<" in name:
        raise PlainDataError(f"{value!r:.60} is not at the top of a module")
    return f"{module}:{name}"


def _class_named(name: str) -> Any:
    """The class of this project that a text names."""
    module, _, path = name.partition(":")
    if module.partition(".")[0] not in _OURS:
        raise ModelError(f"{name:.60} is no record of this project")
    try:
        thing: Any = importlib.import_module(module)
        for part in path.split("."):
            thing = getattr(thing, part)
    except (ImportError, AttributeError):
        raise ModelError(f"there is no record {name:.60} in this version") from None
    if not isinstance(thing, type):
        raise ModelError(f"{name:.60} is no record")
    return thing


def _decoded(read: dict[str, Any]) -> Any:
    """Return what a dictionary of JSON stands for."""
    kind = next(iter(read), "")
    if not kind.startswith("$"):
        return read
    if kind == "$tuple":
        return tuple(read[kind])
    if kind == "$float":
        return float(read[kind])
    if kind == "$array":
        dtype = np.dtype(read[kind])
        if dtype.hasobject:
            raise ModelError("an array of objects is no plain data")
        data = np.frombuffer(base64.b64decode(read["data"], validate=True), dtype)
        return data.reshape(read["shape"]).copy()
    if kind == "$pairs":
        return dict(read[kind])
    if kind == "$objects":
        held = np.empty(len(read[kind]), dtype=object)
        held[:] = read[kind]
        return held.reshape(read["shape"])
    if kind == "$fraction":
        return Fraction(read[kind])
    if kind == "$time":
        return datetime.datetime.fromisoformat(read[kind])
    if kind == "$record":
        record = _class_named(read[kind])
        if not is_dataclass(record):
            raise ModelError(f"{read[kind]:.60} is no record")
        made: Any = record
        return made(**read["fields"])
    if kind == "$named":
        named = _class_named(read[kind])
        if not issubclass(named, tuple):
            raise ModelError(f"{read[kind]:.60} is no named tuple")
        return named(*read["values"])
    if kind == "$name" and "member" in read:
        return getattr(_class_named(read[kind]), read["member"])
    raise ModelError(f"{kind:.20} is no kind of plain data that is read back")
