"""`simulate_slices`: jobs that ask a pod for slices, played event by event."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array, Ints
from phasefit.checks import real_number, whole_number
from qmodels.errors import ModelError
from qmodels.progress import Progress
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream
from validation.jobs.stream import AbstractStreams, JobStream, job_count, spawned
from validation.slices import _kernels as kernels
from validation.slices.placement import (
    DISCIPLINES,
    discipline_name,
    nothing_held,
    place_of,
    strategy_name,
    usual_strategy,
)
from validation.slices.pod import Pod, Shape, SliceMix
from validation.slices.results import ShapeResult, SliceSimulation
from validation.sweeps.executors import replicated

#: Jobs left out at the beginning, and after the measured ones: one of so many.
_WARM, _TAIL = 10, 20
#: How large a free box is left is looked at so often that it costs about as much as placing.
_BLOCKS_FOR_EVERY_LOOK = 64


@dataclass(frozen=True, eq=False)
class _Work:
    """The jobs of one replication; `estimates` are what their users expect."""

    arrivals: Array
    of: Ints
    demands: Array
    estimates: Array


def simulate_slices(
    pod: Pod,
    jobs: SliceMix | AbstractStreams | str = "halving",
    load: float | None = None,
    *,
    strategy: str | None = None,
    discipline: str = "FCFS",
    law: PhaseType | None = None,
    count: int = 20_000,
    backlog: int = 200,
    replications: int = 8,
    processors: int = 1,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SliceSimulation:
    """Play jobs that ask a pod for slices.

    Parameters
    ----------
    pod : Pod
        The blocks and how they are joined.
    jobs : SliceMix, str or AbstractStreams
        A mix, its name or its text (`SliceMix.of`), with Poisson arrivals; or streams of jobs with
        times of their own, such as `LogStreams`, whose sizes become slices by `Pod.slice_of`.
    load : float, optional
        Share of all chips that the jobs of a mix ask for. Without it, `backlog` jobs always wait,
        and the utilisation is the largest that strategy and discipline reach.
    strategy : str, optional
        "any-blocks", "FF", "TFF", "BF", "TBF", "aligned", "MFP", "3d-torus" or "block". By default
        "any-blocks" for a pod with a switch, else "TFF", or "FF" where slices may not be turned.
    discipline : str
        "loss" refuses what does not fit at once; under "FCFS" the first that waits blocks the
        others; "first-fit" starts whatever fits, in order of arrival; "EASY-places" lets pass what does
        not delay the first by the estimates.
    law : PhaseType, optional
        Of the time that a slice is held, scaled to the mean of its shape; by default exponential.
    count : int
        Jobs of a replication of a mix; the first tenth is left out, and so is the last twentieth.
    backlog : int
        Jobs that wait where there is no load.
    replications : int
        Independent runs; at least 2 for an interval of confidence.
    processors : int
        Processors of a log that count as one chip.
    confidence : float
        Coverage of the Student t intervals.
    seed : int
        Replication r draws from ``stream(seed, "slices", r)``: every strategy, discipline and
        load gets the same jobs.
    workers : int
        Threads; by default one per core. The result does not depend on it.
    executor : concurrent.futures.Executor
        Who runs the replications instead.
    progress : callable
        Called as ``progress("replications", done, replications)``.

    Returns
    -------
    SliceSimulation

    Raises
    ------
    ModelError
        If an argument is out of its range, or a slice does not fit the pod.

    Notes
    -----
    Users of a mix expect the times that their jobs take; those of a log what they requested.

    Contiguous strategies give boxes; all but FF and BF turn them in the order of `orientations`
    until one fits, where the pod lets them. A slice
    smaller than a block lies inside one: blocks that are opened already are tried first, then free
    ones, each in scan order, without wrapping. What ends at a moment has gone before anything
    starts or arrives at it.

    Under "FCFS" no job starts later with "any-blocks" than with any other strategy, as long as
    all slices are whole blocks: by induction over the jobs, more has ended by any time. Under
    disciplines that let jobs overtake there is no such order.

    With "first-fit" the largest utilisation depends on `backlog`: the more wait, the better what
    is left can be filled.

    Examples
    --------
    >>> pod = Pod((4, 4, 4))
    >>> options = {"count": 2000, "replications": 2}
    >>> free = simulate_slices(pod, "halving", strategy="any-blocks", **options)
    >>> boxes = simulate_slices(pod, "halving", strategy="TFF", **options)
    >>> free.utilisation.mean > boxes.utilisation.mean + 0.1
    True
    """
    strategy = strategy_name(strategy or usual_strategy(pod))
    discipline = discipline_name(discipline)
    total = whole_number("count", job_count(count), least=20)
    runs = whole_number("replications", replications, least=1)
    work_of: Callable[[int], _Work]
    if isinstance(jobs, AbstractStreams):
        if load is not None:
            raise ModelError("streams have times of their own: leave out load")
        drawn = [jobs.draw(rng=stream(seed, "slices", run)) for run in range(runs)]
        shapes, works = sliced(drawn, pod, processors)
        load = _offered(works, shapes, pod)
        waiting, work_of = 0, partial(_of_run, works)
    else:
        mix = SliceMix.of(jobs, pod)
        shapes = mix.shapes
        waiting = _backlog(load, backlog, discipline, total)
        rate = 1.0 if load is None else mix.arrival_rate(pod, real_number("load", load, above=0.0))
        work_of = partial(_drawn, mix, law, total, rate, seed)
    place = place_of(pod, shapes, strategy)
    one = partial(_one, pod, place, DISCIPLINES[discipline], waiting, work_of)
    found = replicated(one, runs, workers=workers, executor=executor, progress=progress)

    def over(values: Sequence[float]) -> Estimate | None:
        seen = [value for value in values if np.isfinite(value)]
        return estimate(seen, confidence=confidence) if seen else None

    return _summary(pod, strategy, discipline, load, shapes, found, over)


def sliced(streams: Sequence[JobStream], pod: Pod, processors: int) -> tuple[tuple[Shape, ...], list[_Work]]:
    """Streams of jobs as jobs that ask for slices, and the slices, by `Pod.slice_of`.

    Jobs that come with a shape keep it, if it has three sides. A job without a demand, or of more
    processors than the pod has, is an error.
    """
    each = whole_number("processors", processors, least=1)
    known: dict[Any, int] = {}
    shapes: dict[Shape, int] = {}
    works = []
    for jobs in streams:
        if jobs.demands is None:
            raise ModelError("the jobs have no run times; a pod needs to know how long they run")
        asked = jobs.sizes.tolist() if jobs.shapes is None else jobs.shapes
        of = np.empty(len(asked), np.int64)
        for i, what in enumerate(asked):
            if what not in known:
                own = (
                    what
                    if isinstance(what, tuple) and len(what) == 3
                    else pod.slice_of(-(-int(np.prod(what)) // each))
                )
                known[what] = shapes.setdefault(own, len(shapes))
            of[i] = known[what]
        estimates = jobs.demands if jobs.estimates is None else jobs.estimates
        works.append(
            _Work(*(np.array(a) for a in (jobs.arrivals, of, jobs.demands, estimates)))  # type: ignore[arg-type]
        )
    return tuple(shapes), works


def _offered(works: Sequence[_Work], shapes: Sequence[Shape], pod: Pod) -> float:
    """Chip-seconds asked for over those there were while jobs came."""
    chips = np.array([math.prod(shape) for shape in shapes])
    asked = sum(float(work.demands @ chips[work.of]) for work in works)
    length = sum(float(work.arrivals[-1] - work.arrivals[0]) for work in works)
    return asked / (length * pod.chips) if length > 0.0 else np.inf


def _backlog(load: float | None, backlog: int, discipline: str, total: int) -> int:
    if load is not None:
        return 0
    if discipline == "loss":
        raise ModelError("give a load: where nobody waits there is no full queue")
    most = whole_number("backlog", backlog, least=1)
    if 2 * most > total:
        raise ModelError(f"with a backlog of {most} count must be at least {2 * most}, got {total}")
    return most


def _of_run(works: Sequence[_Work], run: int) -> _Work:
    return works[run]


def _drawn(mix: SliceMix, law: PhaseType | None, count: int, rate: float, seed: int, run: int) -> _Work:
    """Poisson arrivals; gaps, shapes and times have generators of their own."""
    for_gaps, for_shapes, for_times = spawned(stream(seed, "slices", run), 3)
    of = for_shapes.choice(len(mix.shapes), count, p=mix.weights)
    if law is None:
        times = for_times.standard_exponential(count)
    else:
        times = np.asarray(law.rvs(size=count, random_state=for_times)) / law.mean
    demands = times * np.array(mix.means)[of]
    arrivals = np.cumsum(for_gaps.standard_exponential(count)) / rate
    return _Work(arrivals, of.astype(np.int64), demands, demands)


@dataclass(frozen=True, eq=False)
class _Played:
    """What one replication counted; plain data, which a journal can keep."""

    span: float  #: of the measured time
    utilisation: float
    stuck: float
    waiting: float
    scatter: float
    events: int
    picture: Ints  #: who holds which block at the end
    carried: float  #: jobs started for each that came
    of: Ints  #: slice of each job that came in the measured time
    waits: Array

    @classmethod
    def counted(cls, pod: Pod, work: _Work, jobs: kernels.Jobs, tally: kernels.Tally) -> _Played:
        """Sum up what the kernel left."""
        span = float(tally.window[1] - tally.window[0])
        held, stuck, waiting, scatter, looked = tally.held.tolist()
        inside = (jobs.starts >= tally.window[0]) & (jobs.starts < tally.window[1])
        came = (jobs.arrivals >= tally.window[0]) & (jobs.arrivals < tally.window[1])
        return cls(
            span=span,
            utilisation=held / (span * pod.chips),
            stuck=stuck / span,
            waiting=waiting / span,
            scatter=scatter / looked if looked > 0.0 else np.nan,
            events=int(tally.events[0]),
            picture=tally.picture,
            carried=int(np.count_nonzero(inside)) / max(int(np.count_nonzero(came)), 1),
            of=work.of[came],
            waits=(jobs.starts - jobs.arrivals)[came],
        )

    def share_refused(self, c: int | None = None) -> float:
        own = self.waits if c is None else self.waits[self.of == c]
        return float(np.isnan(own).mean()) if own.size else np.nan

    def wait(self, c: int | None = None, q: float | None = None) -> float:
        own = self.waits if c is None else self.waits[self.of == c]
        own = own[~np.isnan(own)]
        if not own.size:
            return np.nan
        return float(own.mean() if q is None else np.quantile(own, q))


def _one(
    pod: Pod,
    place: kernels.Place,
    discipline: int,
    waiting: int,
    work_of: Callable[[int], _Work],
    run: int,
) -> _Played:
    work = work_of(run)
    total = work.of.size
    warm, enough = total // _WARM, total - total // _TAIL
    jobs = kernels.Jobs(work.arrivals.copy(), work.of, work.demands, work.estimates, np.full(total, np.nan))
    most = min(pod.chips, total)
    classes = place.volume.size
    queue = kernels.Queue(
        np.full(classes, -1, np.int64),
        np.full(classes, -1, np.int64),
        np.full(total, -1, np.int64),
        np.zeros(classes, np.bool_),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.bool_),
        np.zeros(most, np.int64),
        np.zeros(most),
        np.zeros(most),
        np.zeros(4, np.int64),
    )
    window = [np.inf, np.inf] if waiting else [work.arrivals[warm], work.arrivals[enough - 1]]
    tally = kernels.Tally(
        np.array(window), np.zeros(5), np.full(pod.count, -1, np.int64), np.zeros(2, np.int64)
    )
    every = max(1, pod.count // _BLOCKS_FOR_EVERY_LOOK)
    kernels.play(
        place,
        nothing_held(pod),
        nothing_held(pod),
        queue,
        jobs,
        tally,
        discipline,
        waiting,
        warm,
        enough,
        every,
    )
    if not tally.window[1] > tally.window[0]:
        if waiting:
            raise ModelError(
                f"{total:,} jobs do not keep a pod of {pod.chips:,} chips full for a while: play "
                f"more jobs, or larger slices"
            )
        raise ModelError("all jobs come at one moment: there is no time to measure")
    return _Played.counted(pod, work, jobs, tally)


def _summary(
    pod: Pod,
    strategy: str,
    discipline: str,
    load: float | None,
    shapes: Sequence[Shape],
    found: Sequence[_Played],
    over: Any,
) -> SliceSimulation:
    full = load is None

    def waits(c: int | None) -> dict[str, Any]:
        return {
            key: None if full else over([run.wait(c, q) for run in found])
            for key, q in (("wait", None), ("wait_p95", 0.95), ("wait_p99", 0.99))
        }

    order = sorted(range(len(shapes)), key=lambda c: (math.prod(shapes[c]), shapes[c]))
    own = tuple(
        ShapeResult(
            shape=shapes[c],
            jobs=sum(int(np.count_nonzero(run.of == c)) for run in found),
            refused=None if full else over([run.share_refused(c) for run in found]),
            **waits(c),
        )
        for c in order
    )
    return SliceSimulation(
        pod=pod,
        strategy=strategy,
        discipline=discipline,
        load=load,
        utilisation=over([run.utilisation for run in found]),
        waiting=over([run.waiting for run in found]),
        refused=None if full else over([run.share_refused() for run in found]),
        fits_by_count=over([run.stuck for run in found]),
        scatter=over([run.scatter for run in found]),
        carried=None if full or discipline == "loss" else over([run.carried for run in found]),
        shapes=own,
        replications=len(found),
        events=sum(run.events for run in found),
        picture=found[0].picture,
        runs={
            "utilisation": tuple(run.utilisation for run in found),
            "wait": () if full else tuple(run.wait() for run in found),
        },
        **waits(None),
    )
