"""Typed errors: what is wrong, where, the allowed range and the nearest fix."""

from __future__ import annotations

from phasefit.errors import ConvergenceError, InfeasibleMomentsError, ModelError

__all__ = [
    "ConvergenceError",
    "InfeasibleMomentsError",
    "MemoryBudgetError",
    "ModelError",
    "NoLawError",
    "ScenarioError",
    "TraceFormatError",
    "UnstableError",
    "reason_of",
]


def reason_of(error: Exception) -> str:
    """Return why something failed: in the words of the system where they are its, else the error's own.

    Parameters
    ----------
    error : Exception
        Of a call of the system, or of what reads its answer.

    Examples
    --------
    >>> reason_of(FileNotFoundError(2, "No such file or directory")), reason_of(ValueError("no number"))
    ('No such file or directory', 'no number')
    """
    return getattr(error, "strerror", None) or str(error)


class UnstableError(ModelError):
    """The queue has no steady state: work arrives at least as fast as it is served.

    Parameters
    ----------
    what : str
        Subject of the message.
    rate : float
        Arrives per unit time.
    capacity : float
        Can be served per unit time.
    load : float, optional
        That was asked for.
    largest_load : float, optional
        Just below which there is a steady state, where loads were spoken of.
    message : str
        Whole message, where the usual one would not do.
    """

    def __init__(
        self,
        what: str,
        rate: float,
        capacity: float,
        *,
        load: float | None = None,
        largest_load: float | None = None,
        message: str | None = None,
    ) -> None:
        self.rate, self.capacity = rate, capacity
        self.load, self.largest_load = load, largest_load
        at, most = f"rate {rate:.6g}", f"rate {capacity:.6g}"
        if load is not None and largest_load is not None:
            at = f"load {load:.6g} ({rate:.6g} jobs/s)"
            most = f"load {largest_load:.6g} ({capacity:.6g} jobs/s)"
        super().__init__(
            message
            or f"{what}: no steady state at {at}; stable only below {most}; lower the load or add capacity"
        )


class MemoryBudgetError(ModelError):
    """The state space would not fit; found out before anything was allocated."""


class NoLawError(ModelError):
    """The model of a policy says what jobs take on average, but not what each of them takes."""


class TraceFormatError(ModelError):
    """A log or table is damaged; names the file, the line and the field where it is known.

    Parameters
    ----------
    file : path
        The log or table.
    what : str
        The fault.
    line : int or None
        Line of the fault, where it is known.
    field : str or None
        Field of the fault, where it is known.
    """

    def __init__(self, file: str, what: str, *, line: int | None = None, field: str | None = None) -> None:
        self.file, self.line, self.field, self.what = file, line, field, what
        where = ":".join(str(part) for part in (file, line, field) if part is not None)
        super().__init__(f"{where}: {what}")

    @classmethod
    def unreadable(cls, file: str, error: Exception) -> TraceFormatError:
        """Return the error for a file that the system could not read.

        Parameters
        ----------
        file : path
            The file.
        error : Exception
            What was raised.
        """
        return cls(file, f"cannot be read: {reason_of(error)}")


class ScenarioError(ModelError):
    """A scenario file is at fault; `problems` holds one (key, text) pair for each finding.

    Parameters
    ----------
    file : path
        The scenario.
    problems : sequence of (str, str)
        Key and text of each finding.
    more : int
        Findings beyond those.
    """

    def __init__(self, file: str, problems: list[tuple[str, str]], more: int = 0) -> None:
        self.file, self.problems, self.more = file, problems, more
        lines = [f"{file}: {key}: {text}" for key, text in problems]
        if more:
            lines.append(f"{file}: and {more:,} more faults like these")
        super().__init__("\n".join(lines))

    @property
    def key(self) -> str:
        """The first key at fault."""
        return self.problems[0][0]
