"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from qmodels.errors import ModelError, reason_of


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise ModelError unless a file could be written there: before the work that fills it.

    Its folder is made where there is none.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    ModelError
        If it could not.
    """
    file = Path(path)
    if os.path.isdir(file):
        raise ModelError(f"{file} cannot be written: it is a folder; name a file")
    beside = _beside(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "xb"):
            beside.unlink()
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be written: {reason_of(error)}") from error


def _beside(file: Path) -> Path:
    """A name next to a file; ModelError for a pipe or a device, which a rename would take from everybody."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise ModelError(f"{file} cannot be written: it is a pipe or a device; name a file")
    return file.with_name(f".{secrets.token_hex(8)}.tmp") if file.name else file


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write beside the file, then rename: no reader ever sees half of it.

    Parameters
    ----------
    path : path
        The file.
    content : bytes
        All of it.

    Raises
    ------
    ModelError
        If the file cannot be written; what was there before is as it was.
    """
    file = Path(path)
    beside = _beside(file)
    try:
        with open(beside, "xb") as stream:
            try:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
                os.replace(beside, file)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be written: {reason_of(error)}") from error
