"""Folders of results: made beside their target and moved there when they are complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qmodels.errors import ModelError


def check_output(folder: Path) -> None:
    """Raise ModelError unless results can be written to `folder`; creates nothing."""
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder}: is a file; name a folder for the results")
    parent = _existing_parent(folder)
    if not os.access(parent, os.W_OK):
        raise ModelError(f"{folder}: {parent} is not writable; name another folder")


@contextmanager
def output_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write into; what was written moves to `folder` when the block ends well.

    Files of the same names are replaced, others left alone. An interrupted run leaves earlier
    results as they were.

    Raises
    ------
    ModelError
        If `folder` cannot be written to.
    """
    check_output(folder)
    made = Path(tempfile.mkdtemp(prefix=".qmodels-", dir=_existing_parent(folder)))
    try:
        yield made
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(made.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _existing_parent(folder: Path) -> Path:
    folder = folder.resolve()
    while not folder.exists():
        folder = folder.parent
    return folder if folder.is_dir() else folder.parent
