"""Tables of measured runs: what a run is made of, what its fields may hold, and the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from phasefit.checks import suggestion
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.column_maps import wrong_column

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("program", "phase", "kind", "p", "d", "seconds")
OPTIONAL = "repeat"
NODES = "nodes"
WORK = "work"
PHASE_NAME = "phase_name"
KINDS = ("io", "cpu")

MAX_NAME = 200
LEAST_ALLOTMENTS = 3
SHORTEST, LONGEST = 1e-18, 1e18
MOST = 999_999_999


class MeasuredRun(NamedTuple):
    """A line of a table of runs: one burst timed on one allotment."""

    program: str
    phase: int
    kind: str
    p: int
    d: int
    seconds: float
    repeat: int
    nodes: int | None = None
    work: float | None = None
    phase_name: str = ""


@dataclass(frozen=True, eq=False)
class RunTable(Result):
    """Measured runs of one or more programs.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row per timed burst: `program` (text), `phase` (1, 2, ...), `kind` (``"io"`` or
        ``"cpu"``), `p` processors, `d` disks, `seconds`, and optionally `repeat` (1, 2, ...),
        which is 1 where it is not given, `nodes`, on how many the processors were, `work`, the size of the
        problem (bytes, cells, atoms), and `phase_name`, what the program calls the phase. The table keeps
        a copy.
    source : str
        Where it comes from, for reports.
    notes : tuple of str
        What its reader had to assume, and what cannot be learnt from it, a sentence each.

    Raises
    ------
    ModelError
        If a column or a value does not fit, a run is there twice, or a program's phases are
        not numbered 1 to N.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("solver", 1, "cpu", p, 1, 96.0 / p) for p in (1, 2, 4)]
    >>> RunTable(pd.DataFrame(rows, columns=list(COLUMNS))).programs
    ('solver',)
    """

    drawing = Drawing("p", "seconds", by="phase", log="xy")

    frame: pd.DataFrame
    source: str = ""
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A row for each timed burst; the same as `frame`."""
        return self.frame

    def drawn(self) -> pd.DataFrame:
        """The rows in order of the processors, their phases named."""
        named = self.frame.sort_values("p")
        return named.assign(phase=named["program"] + ", " + named["phase"].astype(str) + " " + named["kind"])

    def __post_init__(self) -> None:
        import pandas as pd

        if not isinstance(self.frame, pd.DataFrame):
            raise ModelError(f"frame must be a pandas.DataFrame, got {type(self.frame).__name__}")
        check_columns([str(name) for name in self.frame.columns])
        frame = self.frame.reset_index(drop=True)
        if OPTIONAL not in frame:
            frame[OPTIONAL] = 1
        frame = frame[[*COLUMNS, OPTIONAL, *(name for name in (NODES, WORK, PHASE_NAME) if name in frame)]]
        _check_values(frame)
        for column in frame.columns.difference(["program", "kind", "seconds", WORK, PHASE_NAME]):
            frame[column] = frame[column].astype("int64")
        for column in frame.columns.intersection(["seconds", WORK]):
            frame[column] = frame[column].astype("float64")
        _check_design(frame)
        object.__setattr__(self, "frame", frame)

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the programs, in the order of their first run."""
        return tuple(self.frame["program"].unique())

    def of(self, program: str) -> RunTable:
        """Return the runs of one of the programs, without notes on others.

        Parameters
        ----------
        program : str
            Its name.
        """
        others = tuple(about(name) for name in self.programs if name != program)
        notes = tuple(note for note in self.notes if not note.startswith(others))
        return RunTable(self.frame[self.frame["program"] == program], self.source, notes)


def about(program: str) -> str:
    """Return the beginning of a note on one program."""
    return f"Program {program!r}: "


def make_table(runs: Sequence[MeasuredRun], source: str, notes: tuple[str, ...] = ()) -> RunTable:
    """Return a table of these runs."""
    frame = data_frame(runs, columns=[*COLUMNS, OPTIONAL, NODES, WORK, PHASE_NAME])
    empty = [name for name in (NODES, WORK) if frame[name].isna().all()]
    if (frame[PHASE_NAME] == "").all():
        empty.append(PHASE_NAME)
    return RunTable(frame.drop(columns=empty), source, notes)


def is_name(value: object) -> bool:
    """Whether a program may be called so."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def allotments_of(runs: Iterable[MeasuredRun]) -> dict[str, set[tuple[int, int]]]:
    """Return the allotments (p, d) that each program was measured on."""
    allotments: dict[str, set[tuple[int, int]]] = {}
    for run in runs:
        allotments.setdefault(run.program, set()).add((run.p, run.d))
    return allotments


def check_allotments(file: str, runs: Sequence[MeasuredRun], lines: Mapping[str, int]) -> None:
    """Raise TraceFormatError for a program measured on too few allotments to learn from.

    `lines` has the line of each program's first run.
    """
    allotments = allotments_of(runs)
    for name, found in allotments.items():
        if len(found) < LEAST_ALLOTMENTS:
            raise TraceFormatError(
                file,
                f"program {name!r} was measured on {len(found)} allotments (p, d); at least "
                f"{LEAST_ALLOTMENTS} distinct ones are needed",
                line=lines[name],
            )
    of_phases: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for run in runs:
        if run.phase_name:
            of_phases.setdefault((run.program, run.phase_name), set()).add((run.p, run.d))
    for (name, phase), found in of_phases.items():
        if len(found) < LEAST_ALLOTMENTS:
            others = [other for program, other in of_phases if program == name and other != phase]
            meant = suggestion(phase, others, "other phases are")
            raise TraceFormatError(
                file,
                f"phase {phase!r} of program {name!r} was timed on {len(found)} of {len(allotments[name])} "
                f"allotments; at least {LEAST_ALLOTMENTS} are needed; {meant}",
            )


def check_columns(names: list[str]) -> None:
    """Raise ModelError unless `names` are the columns of a table of runs, each once."""
    if what := wrong_column(names, COLUMNS, (OPTIONAL, NODES, WORK, PHASE_NAME)):
        raise ModelError(what)


def _check_values(frame: pd.DataFrame) -> None:
    """Raise ModelError for the first value of a frame that no run can have."""
    tests: dict[str, Callable[[Any], bool]] = {
        "program": is_name,
        "kind": lambda x: isinstance(x, str) and x in KINDS,
        "seconds": lambda x: is_number(x) and SHORTEST <= x <= LONGEST,
        WORK: lambda x: is_number(x) and SHORTEST <= x <= LONGEST,
        PHASE_NAME: is_name,
    }
    for column in frame.columns:
        test = tests.get(column, _is_count)
        for row, value in enumerate(frame[column].tolist()):
            if not test(value):
                raise ModelError(f"row {row}: {column} must not be {value!r:.60}")


def is_number(value: object) -> bool:
    """Whether a value is a number, which a truth value is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return is_number(value) and 1 <= value <= 1e9 and value == int(value)


def _check_design(frame: pd.DataFrame) -> None:
    """Raise ModelError for runs that are there twice, and for phases left out."""
    again = frame.duplicated([name for name in frame if name != "seconds"])
    if again.any():
        row = int(again.to_numpy().argmax())
        raise ModelError(f"row {row} repeats a run; number repeated runs in '{OPTIONAL}'")
    if NODES in frame and (frame[NODES] > frame["p"]).any():
        row = int((frame[NODES] > frame["p"]).to_numpy().argmax())
        raise ModelError(
            f"row {row}: {frame[NODES][row]} nodes are more than the {frame['p'][row]} processors of the run"
        )
    if PHASE_NAME in frame:
        names = frame.groupby(["program", "phase"])[PHASE_NAME].nunique()
        if (names > 1).any():
            program, phase = names.index[(names > 1).to_numpy()][0]
            raise ModelError(f"phase {phase} of program {program!r} has {names.max()} names; give it one")
    for name, runs in frame.groupby("program", sort=False):
        phases = set(runs["phase"].tolist())
        gap = next(n for n in range(1, len(phases) + 2) if n not in phases)
        if gap <= max(phases):
            raise ModelError(
                f"program {name!r} has a phase {max(phases)} but no phase {gap}; number the phases 1 to N"
            )
    if frame.empty:
        raise ModelError("there is no run in the table")
