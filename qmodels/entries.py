"""Names that files enter in registries, read without importing them, and those files by name."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from qmodels.errors import ModelError

#: The name of a class that is entered.
_ENTERED = re.compile(
    rb'^@(?:\w+\.)?register\n(?:@[^\n]*\n)*class (?:(?!^class ).)*?^    name(?:: [^=\n]+)? = "([^"\n]+)"$',
    re.MULTILINE | re.DOTALL,
)


def names_of(package: str) -> dict[str, str]:
    """Return the names that the files of a package enter in registries, without importing them.

    So that a command can show in its help what may be named, though it takes long to load.

    Parameters
    ----------
    package : str
        Its full name; files directly in it are read.

    Returns
    -------
    dict
        The module that has the class, by the name, names in alphabetical order.

    Raises
    ------
    ModelError
        If two files enter the same name: only one of them could be had by it.

    Examples
    --------
    >>> names_of("qmodels.policies.models")["time-sharing"]
    'qmodels.policies.models.time_sharing'
    """
    found: dict[str, str] = {}
    for folder in _folders_of(package):
        for file in sorted(folder.glob("*.py")):
            for name in map(bytes.decode, _ENTERED.findall(file.read_bytes())):
                if name in found:
                    files = f"{found[name].rpartition('.')[2]}.py and {file.name}"
                    raise ModelError(f"two files of {package} enter {name!r}: {files}; rename one entry")
                found[name] = f"{package}.{file.stem}"
    return dict(sorted(found.items()))


def load_entries(package: str) -> None:
    """Bring in every file of a package that enters something in a registry.

    Parameters
    ----------
    package : str
        Its full name.
    """
    for module in dict.fromkeys(names_of(package).values()):
        importlib.import_module(module)


def _folders_of(package: str) -> list[Path]:
    """Return the folders of a package; of one that is not imported, the one below this package."""
    if package in sys.modules:
        return [Path(folder) for folder in sys.modules[package].__path__]
    return [Path(__file__).parents[1].joinpath(*package.split("."))]
