"""Streams of jobs, their sources, and the registry of all sources."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import instance_of, positive_vector, real_number, real_vector, whole_number
from phasefit.records import Drawing, Record, Result
from qmodels.errors import ModelError
from qmodels.registry import Registry
from validation.mesh import Sides

if TYPE_CHECKING:
    import pandas as pd


LARGEST_SIZE = 2**31 - 1  #: nodes of one job
MOST_JOBS = 10_000_000  #: jobs of one stream


@dataclass(frozen=True, eq=False, kw_only=True)
class JobStream(Result):
    """Jobs in order of arrival.

    Times are in the unit of the simulated machine: cycles where it has a network, else
    seconds.

    Parameters
    ----------
    arrivals : (n,) array_like
        Times of arrival, >= 0, not decreasing.
    sizes : (n,) array_like of int
        Nodes that each job asks for, at least one.
    demands : (n,) array_like, optional
        What each job needs, > 0: its time of service where the machine has no network, else its
        relative amount of traffic. Disciplines that sort by demand read it too.
    estimates : (n,) array_like, optional
        The user's estimate of the time of service, > 0; the demands where it is left out.
    shapes : tuple, optional
        Per job its sides, (rows, columns) or x, y and z (see `validation.mesh.Sides`), with as many
        nodes as its size; or None for a job that takes any shape.

    Raises
    ------
    ModelError
        If there is no job, a column has another length than `arrivals`, or a value is out of its
        range.

    Examples
    --------
    >>> stream = JobStream(arrivals=[0, 2, 6], sizes=[4, 1, 2], demands=[3.0, 1.0, 5.0])
    >>> stream.jobs, round(stream.offered(8), 6)
    (3, 0.319444)
    """

    drawing = Drawing("arrival", "size")

    arrivals: Array
    sizes: Ints
    demands: Array | None = None
    estimates: Array | None = None
    shapes: tuple[tuple[int, ...] | None, ...] | None = None

    def __post_init__(self) -> None:
        arrivals = real_vector("arrivals", self.arrivals)
        if arrivals[0] < 0:
            raise ModelError(f"arrivals must be >= 0, but the first is {arrivals[0]:.6g}")
        refuse_falling(arrivals)
        columns: dict[str, Any] = {"arrivals": arrivals, "sizes": _checked_sizes(self.sizes)}
        for name in ("demands", "estimates"):
            array = getattr(self, name)
            columns[name] = None if array is None else positive_vector(name, array)
        if columns["estimates"] is None:
            columns["estimates"] = columns["demands"]
        for name, column in columns.items():
            if column is None:
                continue
            if column.size != arrivals.size:
                raise ModelError(f"{column.size} {name} but {arrivals.size} arrivals; give one each")
            object.__setattr__(self, name, read_only(column))
        if self.shapes is not None:
            object.__setattr__(self, "shapes", _checked_shapes(self.shapes, columns["sizes"]))

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return int(self.arrivals.size)

    def head(self, count: int) -> JobStream:
        """Return the first jobs.

        Parameters
        ----------
        count : int
            At least one and at most all of them.

        Raises
        ------
        ModelError
            If there are fewer.
        """
        count = whole_number("count", count, least=1)
        if count > self.jobs:
            raise ModelError(f"count must be at most the {self.jobs} jobs there are, got {count}")
        return JobStream(
            arrivals=self.arrivals[:count],
            sizes=self.sizes[:count],
            demands=None if self.demands is None else self.demands[:count],
            estimates=None if self.estimates is None else self.estimates[:count],
            shapes=None if self.shapes is None else self.shapes[:count],
        )

    def scaled(self, factor: float) -> JobStream:
        """Return the same jobs with the times of arrival multiplied by a factor.

        Parameters
        ----------
        factor : float
            Above zero.
        """
        factor = real_number("factor", factor, above=0.0)
        with np.errstate(over="ignore"):
            return replace(self, arrivals=self.arrivals * factor)

    def offered(self, nodes: int) -> float:
        """Return the load that the jobs offer to `nodes` nodes, where the demands are times of service.

        Parameters
        ----------
        nodes : int
            Nodes of the machine, at least one.

        Returns
        -------
        float
            Jobs per unit of time, from the first arrival to the last, times mean size x demand,
            over `nodes`; 1 is all the machine can do if no node is ever left idle.

        Raises
        ------
        ModelError
            If the demands are not known, or all jobs arrive at once.
        """
        nodes = whole_number("nodes", nodes, least=1)
        if self.demands is None:
            raise ModelError("the load needs demands, and this stream has none")
        span = float(self.arrivals[-1] - self.arrivals[0])
        if span <= 0:
            raise ModelError("the load needs jobs that arrive apart in time; all arrive at once")
        # In units of the longest demand, so that no product overflows.
        longest = float(self.demands.max())
        work = float(np.mean(self.sizes * (self.demands / longest)))
        load = work * (self.jobs - 1) / nodes * (longest / span)
        if not math.isfinite(load):
            raise ModelError("the load is too large for a float; change the unit of time")
        return load

    def to_frame(self) -> pd.DataFrame:
        """Give a row per job: arrival, size, and demand, estimate and shape where known."""
        import pandas as pd

        columns: dict[str, Any] = {"arrival": self.arrivals, "size": self.sizes}
        for name in ("demand", "estimate", "shape"):
            column = getattr(self, f"{name}s")
            if column is not None:
                columns[name] = column if name != "shape" else pd.Series(column, dtype=object)
        return pd.DataFrame(columns)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Circumstances in which the table of a file that describes jobs is read."""

    largest: int  #: nodes of the machine
    sides: Sides | None = None  #: of its mesh
    timed: bool  #: whether a job's demand is its time of service, for want of a network
    folder: Path = Path()  #: where relative paths begin
    replications: int = 1  #: that the study asks for
    max_bytes: int | None = None  #: most text that is read of a log


class TableError(ModelError):
    """A key of the table of jobs is missing, or does not go with the others.

    Parameters
    ----------
    key : str
        The key at fault.
    text : str
        The message.
    """

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        super().__init__(text)


#: Mean share of the processors that the rate of arrivals is chosen for, unless a file says more.
USUAL_UTILISATION = 0.65


class AbstractStreams(Record, abc.ABC):
    """Source of job streams: one stream for each replication.

    A subclass is a frozen dataclass with a `name` and the method `draw`. In a file it is asked for
    like the Poisson stream, unless it says otherwise by `keys` and `from_table`.
    """

    name: ClassVar[str]  #: short name used on the command line
    #: Keys of the table ``[jobs]`` that it knows, besides ``source``.
    keys: ClassVar[tuple[str, ...]] = ("count", "mean_size", "mean_interarrival", "utilisation")

    @classmethod
    def from_table(cls, table: Mapping[str, Any], setting: Setting) -> tuple[AbstractStreams, float | None]:
        """Return the streams that a table ``[jobs]`` asks for, and the utilisation to be reached.

        Parameters
        ----------
        table : mapping
            The keys given, all among `keys`.
        setting : Setting
            Circumstances in which it is read.

        Returns
        -------
        streams : AbstractStreams
        utilisation : float or None
            What the rate of arrivals is to be chosen for; None if it stays as it is.

        Raises
        ------
        ModelError
            If a value is out of its range; a `TableError` names the key.
        """
        gap = {"mean_interarrival": table.get("mean_interarrival", 1.0)}
        arguments = renamed(table, count="jobs", mean_size="mean_size") | gap | demands_for(setting)
        make: Any = cls  # the arguments are those of the Poisson stream, not of an abstract one
        return make(largest=setting.largest, **arguments), wanted_utilisation(table, USUAL_UTILISATION)

    def spaced(self, mean: float) -> AbstractStreams:
        """Return the same source with another mean time between arrivals.

        Parameters
        ----------
        mean : float
            Takes the place of the field `mean_interarrival`, which the source must have.
        """
        streams: Any = self  # a source is a dataclass
        same: AbstractStreams = replace(streams, mean_interarrival=mean)
        return same

    @abc.abstractmethod
    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """Draw the jobs of one replication.

        What makes up a stream (gaps, sizes, demands) has generators of its own, spawned from
        `rng`: sources that differ in one of them agree in the others.

        Parameters
        ----------
        rng : numpy.random.Generator
            Where randomness comes from.

        Returns
        -------
        JobStream
            The jobs, in the order of their arrival.
        """


#: Every source of streams by name; the command line and the contract tests read this.
STREAMS: Registry[AbstractStreams] = Registry(AbstractStreams, "source of jobs")

register = STREAMS.register


def renamed(table: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return arguments of a class from the keys of a table, where the table has them.

    Parameters
    ----------
    table : mapping
        The table.
    **names : str
        Name of the argument by each key.
    """
    return {name: table[key] for key, name in names.items() if key in table}


def demands_for(setting: Setting) -> dict[str, Any]:
    """Return the argument `demand`: without a network something must say how long a job stays.

    Parameters
    ----------
    setting : Setting
        Circumstances in which the table is read.
    """
    return {"demand": PhaseType.exponential(mean=1.0)} if setting.timed else {}


def wanted_utilisation(table: Mapping[str, Any], usual: float | None) -> float | None:
    """Return the utilisation that a table asks for: none where it gives the rate, else `usual`.

    Parameters
    ----------
    table : mapping
        The table.
    usual : float or None
        Where the table asks for none.
    """
    named = "mean_interarrival" in table or "arrival_factor" in table
    utilisation: float | None = table.get("utilisation", None if named else usual)
    return utilisation


def spawned(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Return independent generators for the parts of one stream.

    Parameters
    ----------
    rng : numpy.random.Generator
        Their parent.
    count : int
        Number of generators.

    Raises
    ------
    ModelError
        If `rng` is no generator, or cannot spawn.
    """
    instance_of("rng", rng, np.random.Generator, "numpy.random.Generator")
    try:
        return list(rng.spawn(count))
    except TypeError as error:
        raise ModelError(f"rng cannot spawn; make it with numpy.random.default_rng: {error}") from error


def job_count(jobs: int) -> int:
    """Return `jobs`, if one stream can hold so many.

    Parameters
    ----------
    jobs : int
        The number to check.

    Raises
    ------
    ModelError
        If it is no such number.
    """
    number = whole_number("jobs", jobs, least=1)
    if number > MOST_JOBS:
        raise ModelError(f"jobs must be at most {MOST_JOBS:,} a stream, got {number:,}")
    return number


def refuse_falling(arrivals: Array) -> None:
    """Refuse times of arrival that decrease.

    Parameters
    ----------
    arrivals : (n,) ndarray
        In the order of the jobs.

    Raises
    ------
    ModelError
        If a job comes before the one before it.
    """
    falls = np.flatnonzero(np.diff(arrivals) < 0)
    if falls.size:
        i = int(falls[0])
        raise ModelError(
            f"arrivals must not decrease, but arrivals[{i + 1}] = {arrivals[i + 1]:.6g} comes "
            f"after {arrivals[i]:.6g}; sort the jobs by arrival"
        )


def checked_law(name: str, law: Any) -> Any:
    """Return `law`, if demands can be drawn from it, or None.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    law : object
        The law to check.

    Raises
    ------
    ModelError
        If nothing can be drawn from it.
    """
    if law is not None and not callable(getattr(law, "rvs", None)):
        raise ModelError(f"{name} must be a law with rvs(size=, random_state=), or None; got {law!r:.60}")
    return law


def drawn_demands(law: Any, jobs: int, rng: np.random.Generator) -> Array | None:
    """Return demands of jobs, (jobs,), or None without a law.

    Parameters
    ----------
    law : PhaseType, BoundedPareto or frozen scipy.stats law, or None
        Of the demands; see `checked_law`.
    jobs : int
        Their number.
    rng : numpy.random.Generator
        Where randomness comes from.
    """
    return None if law is None else np.asarray(law.rvs(size=jobs, random_state=rng))


def size_limit(largest: int) -> int:
    """Return `largest`, if a job can have so many nodes.

    Parameters
    ----------
    largest : int
        The number to check.

    Raises
    ------
    ModelError
        If it is no such number.
    """
    number = whole_number("largest", largest, least=1)
    if number > LARGEST_SIZE:
        raise ModelError(f"largest must be at most {LARGEST_SIZE:,} nodes, got {number:,}")
    return number


def arrivals_of(gaps: Array, scale: float) -> Array:
    """Return times of arrival, the first at 0.

    Parameters
    ----------
    gaps : (n,) ndarray
        Times between arrivals, in units of `scale`.
    scale : float
        Mean time between arrivals.

    Raises
    ------
    ModelError
        If the last arrival is too late for a float.
    """
    with np.errstate(over="ignore"):
        times: Array = np.concatenate([[0.0], np.cumsum(gaps)]) * scale
    if not np.isfinite(times[-1]):
        raise ModelError("the last arrival is too late for a float; use a longer unit of time")
    return times


def _checked_sizes(numbers: Any) -> Ints:
    sizes = real_vector("sizes", numbers)
    wrong = (sizes != np.floor(sizes)) | (sizes < 1) | (sizes > LARGEST_SIZE)
    if wrong.any():
        i = int(wrong.argmax())
        raise ModelError(f"sizes[{i}] must be a whole number from 1 to {LARGEST_SIZE:,}, got {sizes[i]:.12g}")
    return sizes.astype(np.int64)


def _checked_shapes(shapes: Any, sizes: Ints) -> tuple[tuple[int, ...] | None, ...]:
    """Sides of each job, with as many nodes as it asks for."""
    if not isinstance(shapes, tuple | list) or len(shapes) != sizes.size:
        raise ModelError(f"shapes must be a tuple of {sizes.size} shapes or None, got {shapes!r:.60}")
    checked: list[tuple[int, ...] | None] = []
    for i, (shape, size) in enumerate(zip(shapes, sizes.tolist(), strict=True)):
        if shape is None:
            checked.append(None)
            continue
        if not isinstance(shape, tuple | list) or len(shape) not in (2, 3):
            raise ModelError(f"shapes[{i}] must be None or 2 or 3 sides, got {shape!r:.60}")
        sides = tuple(whole_number(f"a side of shapes[{i}]", side, least=1) for side in shape)
        if math.prod(sides) != size:
            raise ModelError(
                f"shapes[{i}] is {' x '.join(map(str, sides))}, {math.prod(sides)} nodes, but the "
                f"job asks for {size}"
            )
        checked.append(sides)
    return tuple(checked)
