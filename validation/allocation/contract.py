"""The contract of a strategy, run against a class: what it promises, whether it keeps it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from phasefit.arrays import Ints
from phasefit.checks import one_of, whole_number
from qmodels.errors import ModelError
from validation.allocation.base import AbstractStrategy, Kind, Request
from validation.analysis.promises import KeptPromises, same_answer
from validation.mesh import Mesh, Occupancy, Sides

#: Sides of the meshes that are tried, rows and columns or x, y and z, and a torus of the last; a
#: strategy may refuse one with a ModelError.
SIDES = ((1, 1), (4, 4), (8, 8), (8, 16), (16, 8), (5, 7), (16, 22))
LAYERED = ((4, 4, 4), (6, 5, 4))

PROMISES = {
    "defined": "works on a mesh of some size",
    "free nodes": "gives different free nodes of the mesh, as integers in ascending order",
    "amount": "never gives a part of what was asked for, and no more than its kind allows",
    "refusal": "refuses only where its kind allows it",
    "impossible": "refuses what no empty mesh could give",
    "pure": "leaves the mesh and the request as they were",
    "repeatable": "answers the same question in the same way",
    "history": "gives all nodes out again after jobs end in any order",
}


@dataclass(frozen=True)
class StrategyCheck(KeptPromises):
    """What `check_strategy` found.

    Examples
    --------
    >>> from validation.allocation import PLAS
    >>> check = check_strategy(PLAS, operations=100)
    >>> check.passed, check.failures
    (True, {})
    """

    promises: ClassVar[Mapping[str, str]] = PROMISES
    name: str  #: of the strategy
    requests: int  #: how many were made
    refused: int  #: how many of them were refused
    meshes: tuple[str, ...]  #: meshes that the strategy accepts
    failures: dict[str, str]  #: promise broken and the first case in which it was

    @property
    def heading(self) -> str:
        """See `KeptPromises.heading`."""
        return f"{self.name}: {self.requests} requests on {', '.join(self.meshes) or 'no mesh'}"


def check_strategy(
    strategy: type[AbstractStrategy] | Callable[[], AbstractStrategy],
    *,
    operations: int = 400,
    seed: int = 0,
) -> StrategyCheck:
    """Run the contract of strategies against a class.

    Parameters
    ----------
    strategy : type or callable
        A subclass of `AbstractStrategy` that needs no arguments, or a function that makes a
        fresh strategy, such as ``partial(SBT, alpha=4)``.
    operations : int
        Random allocations and releases on each mesh.
    seed : int
        Of these operations.

    Returns
    -------
    StrategyCheck
        The promises, and for those broken the first case seen; an error raised by the strategy
        counts as a broken promise.

    Raises
    ------
    ModelError
        If `strategy` makes no strategy, or one without a name or of an unknown kind.

    Notes
    -----
    Requests are of sizes up to half the mesh, now and then up to all of it, on meshes with sides
    that are powers of two and others. Every answer is compared with that of a strategy made afresh,
    or, where the strategy draws and so has a `fresh` of its own, of one that was asked the same
    before. A pass is evidence, no proof.
    """
    operations = whole_number("operations", operations, least=1)
    seed = whole_number("seed", seed, least=0)
    if not callable(strategy):
        raise ModelError(f"give a strategy class or a function that makes one, got {strategy!r:.60}")
    made = _made(strategy)
    trial = _Trial(strategy, made.name, {})
    for sides in SIDES + LAYERED:
        trial.on(Mesh.of_sides(sides), operations, np.random.default_rng([seed, *sides]))
    ring = Mesh.of_sides(LAYERED[-1], torus=True)
    trial.on(ring, operations, np.random.default_rng([seed, *LAYERED[-1], 1]))
    if not trial.meshes:
        trial.failures.setdefault("defined", "refuses every mesh that was tried")
    return StrategyCheck(made.name, trial.requests, trial.refused, tuple(trial.meshes), trial.failures)


def _made(make: Callable[[], AbstractStrategy]) -> AbstractStrategy:
    """A strategy that says what it is."""
    try:
        made = make()
    except TypeError as error:
        raise ModelError(
            f"{make!r:.80} cannot be made without arguments ({error}); wrap it in functools.partial"
        ) from error
    except Exception as error:  # whatever the user's class does when it is made
        raise ModelError(f"{make!r:.80} cannot be made: {_told(error)}") from error
    if not isinstance(made, AbstractStrategy):
        raise ModelError(f"{make!r:.80} makes {type(made).__name__}, no AbstractStrategy")
    if not isinstance(getattr(made, "name", None), str):
        raise ModelError(f"{make!r:.80} lacks a name; give the class one, such as name = 'mine'")
    one_of(f"kind of {made.name!r:.40}", made.kind, get_args(Kind))
    return made


class _Stopped(Exception):
    """The history on this mesh makes no sense any more; why is noted."""


class _Trial:
    """One run of the contract: it keeps count and notes the first case of each broken promise."""

    def __init__(self, make: Callable[[], AbstractStrategy], name: str, failures: dict[str, str]) -> None:
        self.make, self.name, self.failures = make, name, failures
        self.requests = self.refused = 0
        self.meshes: list[str] = []

    def on(self, place: Mesh, operations: int, rng: np.random.Generator) -> None:
        """A random history on one mesh, then everything released and given out again."""
        label = str(place.sides) if place.depth > 1 else f"{place.rows} x {place.columns}"
        if place.torus:
            label += " (torus)"
        try:
            self.make().choose(Occupancy(place), Request(1))
        except ModelError:
            return
        except Exception as error:
            self.failures.setdefault("defined", f"1 node of {label}, all free: {_told(error)}")
            return
        self.meshes.append(label)
        with contextlib.suppress(_Stopped):
            self._history(Occupancy(place), label, operations, rng)

    def _pair(self) -> tuple[AbstractStrategy, AbstractStrategy]:
        """Two strategies that must answer alike, with equal draws if they draw."""
        one, other = self.make(), self.make()
        if _draws(one):
            return one.fresh(np.random.default_rng(0)), other.fresh(np.random.default_rng(0))
        return one, other

    def _on_empty(self, mesh: Occupancy, label: str) -> list[Ints | None]:
        """What is given of an empty mesh: one node, and all of them."""
        strategy, twin = self._pair()
        return [self._ask(strategy, twin, mesh, Request(size), label) for size in (1, mesh.nodes)]

    def _history(self, mesh: Occupancy, label: str, operations: int, rng: np.random.Generator) -> None:
        empty = self._on_empty(mesh, label)
        strategy, twin = self._pair()
        case = f"{mesh.nodes + 1} nodes of {label}"
        impossible = self._answer(strategy, mesh, Request(mesh.nodes + 1), case, "impossible")
        if impossible is not None:
            self.failures.setdefault("impossible", f"{case}: gave {impossible!r:.60}, not None")
        strategy, twin = self._pair()
        shaped = strategy.kind == "contiguous"
        for job, request in enumerate(_requests(mesh, operations, rng, shaped=shaped)):
            while mesh.jobs and rng.random() < 0.45:
                mesh.release(list(mesh.jobs)[int(rng.integers(len(mesh.jobs)))])
            nodes = self._ask(strategy, twin, mesh, request, label)
            if nodes is not None:
                mesh.occupy(job, nodes)
        jobs = list(mesh.jobs)
        for i in rng.permutation(len(jobs)):
            mesh.release(jobs[i])
        if not all(map(same_answer, empty, self._on_empty(mesh, label))):
            self.failures.setdefault("history", f"answers differently on {label}, empty again")

    def _answer(
        self, strategy: AbstractStrategy, mesh: Occupancy, request: Request, case: str, promise: str
    ) -> Any:
        """What the strategy says, leaving mesh and request alone; an error breaks `promise`."""
        busy, jobs, before = mesh.busy.copy(), dict(mesh.jobs), (request.size, request.shape)
        try:
            answer = strategy.choose(mesh, request)
        except Exception as error:
            self.failures.setdefault(promise, f"{case}: {_told(error)}; answer with nodes or None")
            raise _Stopped from error
        # A job that left and came back holds a new array, and is the last in order of allocation.
        moved = any(nodes is not jobs.get(job) for job, nodes in mesh.jobs.items())
        if moved or not np.array_equal(mesh.busy, busy):
            self.failures.setdefault("pure", f"{case}: the mesh is changed; only its user books")
            raise _Stopped
        if (request.size, request.shape) != before:
            self.failures.setdefault("pure", f"{case}: the request is changed")
            raise _Stopped
        return answer

    def _ask(
        self,
        strategy: AbstractStrategy,
        twin: AbstractStrategy,
        mesh: Occupancy,
        request: Request,
        label: str,
    ) -> Ints | None:
        """One request, checked; nodes that may be occupied, or None."""
        free = mesh.free
        shape = "" if request.shape is None else f" as {' x '.join(map(str, request.shape))}"
        case = f"{request.size} nodes{shape} of {label}, {free} free"
        nodes = self._answer(strategy, mesh, request, case, "defined")
        self.requests += 1
        self.refused += nodes is None
        note = self.failures.setdefault
        fault = None if nodes is None else _fault(nodes, mesh)
        if fault is not None:
            note("free nodes", f"{case}: gave {fault}")
            return None
        other = twin if _draws(strategy) else self.make()
        if not same_answer(nodes, self._answer(other, mesh, request, case, "defined")):
            note(
                "repeatable",
                f"{case}: another made in the same way answers differently; keep no state, and let "
                "`fresh` set the generator if you draw",
            )
        if nodes is None:
            if strategy.kind == "exact" and request.size <= free:
                note("refusal", f"{case}: refused, which kind 'bounded' may and 'exact' may not")
            fits = strategy.kind != "contiguous" or (
                request.box is not None and request.box.fit(mesh.mesh.sides)
            )
            if fits and request.size <= free == mesh.nodes:
                note("refusal", f"{case}: refused on the empty mesh")
            return None
        given = np.asarray(nodes)
        if given.size < request.size:
            note("amount", f"{case}: gave {given.size}; give all of them or None")
        elif given.size > request.size and strategy.kind != "pages":
            note("amount", f"{case}: gave {given.size}")
        if strategy.kind == "contiguous":
            alone = Occupancy(mesh.mesh)
            alone.occupy("the job", given)
            boxes = alone.boxes
            if len(boxes) > 1:
                round_it = np.ptp(mesh.coordinates(given), axis=0) + 1
                note("amount", f"{case}: gave {given.size} in a box of {np.prod(round_it)}")
            elif request.box is not None and sorted(boxes[0, 3:]) != sorted(request.box):
                sides = Sides(*boxes[0, 3:].tolist())
                note("amount", f"{case}: gave {given.size} in a box of {sides}")
        return given


def _draws(strategy: AbstractStrategy) -> bool:
    return type(strategy).fresh is not AbstractStrategy.fresh


def _requests(
    mesh: Occupancy, operations: int, rng: np.random.Generator, *, shaped: bool
) -> Iterator[Request]:
    """Requests of all sizes; four of five with a shape, where shapes are looked at."""
    for _ in range(operations):
        most = mesh.nodes if rng.random() < 0.1 else max(1, mesh.nodes // 2)
        if not shaped or rng.random() < 0.2:
            yield Request(int(np.exp(rng.uniform(0.0, np.log(most))) + 0.5))
            continue
        sides = np.array(mesh.shape if mesh.depth == 1 else mesh.mesh.sides)
        longest = sides if most == mesh.nodes else (sides + 1) // 2
        yield Request.of_shape(*rng.integers(1, longest + 1).tolist())


def _fault(nodes: Any, mesh: Occupancy) -> str | None:
    """What is wrong with an answer, if it cannot be booked."""
    try:
        given = np.asarray(nodes)
    except ValueError:
        return f"{nodes!r:.60}, no flat list of nodes"
    if given.dtype.kind == "b" and given.size:
        return f"{nodes!r:.60}, a mask; return its np.flatnonzero"
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        return f"{nodes!r:.60}, no flat list of integers"
    if given.size == 0:
        return "no nodes; refuse with None"
    outside = given[(given < 0) | (given >= mesh.nodes)]
    if outside.size:
        return f"node {outside[0]}; they are numbered from 0 to {mesh.nodes - 1}"
    numbers, times = np.unique(given, return_counts=True)
    if times.max() > 1:
        return f"node {numbers[times.argmax()]} {times.max()} times"
    held = given[mesh.busy.ravel()[given]]
    if held.size:
        return f"node {held[0]}, which is busy"
    if (np.diff(given.astype(np.int64)) < 0).any():
        return f"{nodes!r:.60}, not in ascending order; sort them"
    return None


def _told(error: Exception) -> str:
    return f"raised {type(error).__name__} ({error!s:.120})"
