"""Folder of compiled loops between runs, where neither the package nor a home can be written.

numba keeps them beside their source, else in the user's cache, else it refuses to compile at all:
so on a read-only root the first import would end in a traceback.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, MutableMapping
from pathlib import Path


def _writable(folder: Path) -> bool:
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    try:  # root may write anywhere by its rights, and yet not on every file system
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def settle(
    environment: MutableMapping[str, str] = os.environ,
    package: Path = Path(__file__).parent,
    writable: Callable[[Path], bool] = _writable,
) -> None:
    """Name a temporary place for numba's cache, if it would find none by itself.

    Has to be called before numba is imported, which reads the environment once.
    """
    if "NUMBA_CACHE_DIR" in environment or "numba" in sys.modules:
        return
    beside = package / "__pycache__"
    home = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME", "/"), ".cache")
    if writable(_nearest_existing(beside)) or writable(_nearest_existing(Path(home))):
        return
    try:
        place = Path(tempfile.gettempdir()) / f"qmodels-numba-{os.getuid()}"
        place.mkdir(mode=0o700, exist_ok=True)
        if place.stat().st_uid != os.getuid():
            raise OSError
    except OSError:
        environment["NUMBA_DISABLE_JIT"] = "1"
        print(
            "qmodels: no folder to keep compiled loops in can be written, so they run "
            "uncompiled, some hundred times slower; set NUMBA_CACHE_DIR to a folder of yours",
            file=sys.stderr,
        )
        return
    environment["NUMBA_CACHE_DIR"] = str(place)


def _nearest_existing(folder: Path) -> Path:
    """The folder, or the nearest above it that there is."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
