"""The record of a campaign: its results as CSV, and beside them how they were made."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from qmodels.errors import ModelError
from validation.papers.base import Finding
from validation.sweeps.results import to_csv, to_frame
from validation.sweeps.version import code_version

if TYPE_CHECKING:
    import pandas as pd

#: Libraries whose versions may change a last digit.
_LIBRARIES: Final = ("numpy", "scipy", "numba")
#: What a record's file of provenance holds.
KEYS: Final = (
    "command",
    "seed",
    "date",
    "commit",
    "code",
    "modules",
    "cpu_seconds",
    "processor",
    "python",
    "libraries",
    "rows",
)


class Measured:
    """CPU time that a block takes in this process.

    Examples
    --------
    >>> with Measured() as measured:
    ...     pass
    >>> measured.cpu_seconds >= 0.0
    True
    """

    cpu_seconds = 0.0

    def __enter__(self) -> Measured:
        self._began = time.process_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cpu_seconds = time.process_time() - self._began


@dataclass(frozen=True)
class Record:
    """A record as it was read."""

    name: str
    provenance: Mapping[str, Any]
    findings: tuple[Finding, ...]

    @property
    def fresh(self) -> bool:
        """Whether the source that its results hang on is still what it was.

        Never where results of another version of the code were taken as they were.
        """
        if "--reuse" in self.provenance["command"].split():
            return False
        try:
            return bool(code_version(*self.provenance["modules"]) == self.provenance["code"])
        except KeyError:  # a module that is there no more
            return False


def write_record(
    folder: Path,
    name: str,
    table: pd.DataFrame,
    *,
    command: str,
    modules: Iterable[str],
    seed: int,
    cpu_seconds: float,
    findings: Sequence[Finding] = (),
) -> None:
    """Write ``name.csv``, its findings beside it if there are any, and ``name.toml``.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    name : str
        Of the campaign.
    table : pandas.DataFrame
        Its results.
    command : str
        That gives them again, as one would type it.
    modules : iterable of str
        Whose source the results hang on, see `validation.sweeps.version`.
    seed : int
    cpu_seconds : float
        Of all processes, those of earlier runs that were gone on with included.
    findings : sequence of Finding

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    listed = sorted(set(modules))
    told: dict[str, Any] = {
        "command": command,
        "seed": seed,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": _commit(),
        "code": code_version(*listed),
        "modules": listed,
        "cpu_seconds": round(cpu_seconds, 1),
        "processor": _processor(),
        "python": platform.python_version(),
        "libraries": [f"{each} {installed(each)}" for each in _LIBRARIES],
        "rows": len(table),
    }
    assert tuple(told) == KEYS
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / f"{name}.csv", to_csv(table))
    if findings:
        rows = [
            {"claim": f.claim, "verdict": f.verdict, "sentence": f.sentence, "detail": f.detail}
            for f in findings
        ]
        _replace(folder / f"{name}.findings.csv", to_csv(to_frame(rows)))
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in told.items()]
    _replace(folder / f"{name}.toml", "".join(lines))  # last: without it there is no record


def read_record(folder: Path, name: str) -> Record | None:
    """A record, or None if there is none.

    Raises
    ------
    ModelError
        If it is damaged.
    """
    import pandas as pd

    file, findings = folder / f"{name}.toml", folder / f"{name}.findings.csv"
    if not file.is_file():
        return None
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: {error}") from None
    missing = [key for key in KEYS if key not in told]
    if missing or not (folder / f"{name}.csv").is_file():
        raise ModelError(f"{file}: lacks {', '.join(missing) or 'its table'}")
    rows = pd.read_csv(findings).to_dict("records") if findings.is_file() else []
    return Record(
        name,
        told,
        tuple(Finding(str(r["claim"]), str(r["sentence"]), r["verdict"], str(r["detail"])) for r in rows),
    )


def _replace(file: Path, text: str) -> None:
    made = file.with_name(f".{file.name}.part")
    made.write_text(text, encoding="utf-8")
    made.replace(file)


def _commit() -> str:
    """The commit that is checked out, with a + if files differ from it; "unknown" outside git."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=here, capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/*.py")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _processor() -> str:
    """The processor's name and how many of its cores may be used."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as told:
            models = (line.partition(":")[2].strip() for line in told if "model name" in line)
            name = next(models, name)
    except OSError:
        pass
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    return f"{name}, {cores} cores"
