"""What a Darshan log says of a run besides its I/O; nothing of it is believed unchecked."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from qmodels.errors import ModelError
from qmodels.io._swf_parse import one_line
from qmodels.io.run_table import MAX_NAME, is_name
from qmodels.programs.traces import RunOrigin, StorageTargets

_MOST_TARGET = 10**9
_MOST_DIGITS = 40
_INTERPRETER = re.compile(r"(python|perl|ruby|julia|Rscript|bash|sh)[0-9.]*", re.ASCII)


def run_origin(said: dict[str, Any]) -> RunOrigin:
    """Program, job, start and storage targets, none of which a damaged log need have.

    Raises
    ------
    ModelError
        If its table of storage targets cannot be.
    """
    command, job, start = said.get("command"), said.get("job"), said.get("start")
    program = program_name(one_line(command).split() if isinstance(command, str) else [])
    began = 0.0
    if isinstance(start, list) and all(isinstance(n, int) and 0 <= n < 2**40 for n in start):
        began = float(sum(n * unit for n, unit in zip(start, (1.0, 1e-9), strict=False)))
    number = job[:_MOST_DIGITS] if isinstance(job, str) else ""
    return RunOrigin(program, number, began, _targets(said.get("targets"), said.get("elsewhere")))


def _targets(rows: Any, elsewhere: Any) -> StorageTargets | None:
    if not rows:
        return None
    try:
        columns = np.array(rows, dtype=np.int64).reshape(len(rows), 2).T
    except (TypeError, ValueError, OverflowError):
        raise ModelError("its table of storage targets") from None
    if not isinstance(elsewhere, int) or columns[0].max() > _MOST_TARGET:
        raise ModelError("the number of a storage target, or of bytes elsewhere, is impossible")
    return StorageTargets(columns[0], columns[1], elsewhere)


def program_name(words: list[str]) -> str:
    """Name of a command without folders; of a script, not of what interprets it."""
    names = [os.path.basename(word)[:MAX_NAME] for word in words]
    if names and _INTERPRETER.fullmatch(names[0]):
        # Options go before the script; -c has none, and -m a module in its place.
        at = next((k for k, word in enumerate(words) if k and word[0] != "-"), 0)
        if "-c" not in words[1 : at + 1]:
            names = [names[at]]
    return names[0] if names and is_name(names[0]) else ""
