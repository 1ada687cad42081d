"""The contract of a strategy, run against a class: what it promises, whether it keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from validation.allocation.base import AbstractStrategy, Ints, Request
from validation.mesh import Mesh

if TYPE_CHECKING:
    import pandas as pd

#: Sides of the meshes that are tried; a strategy may refuse one with a ModelError.
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
class StrategyCheck:
    """What `check_strategy` found.

    Examples
    --------
    >>> from validation.allocation import PLAS
    >>> check = check_strategy(PLAS, operations=100)
    >>> check.passed, check.failures
    (True, {})
    """

    name: str  #: of the strategy
    requests: int  #: how many were made
    refused: int  #: how many of them were refused
    meshes: tuple[str, ...]  #: meshes that the strategy accepts
    failures: dict[str, str]  #: promise broken and the first case in which it was

    @property
    def passed(self) -> bool:
        """Whether every promise was kept."""
        return not self.failures

    def table(self) -> str:
        """One line for each promise."""
        lines = [f"{self.name}: {self.requests} requests on {', '.join(self.meshes) or 'no mesh'}"]
        for promise, meaning in PROMISES.items():
            broken = self.failures.get(promise)
            lines.append(f"  {'BROKEN' if broken else 'kept  '}  {meaning}")
            if broken:
                lines.append(f"          {broken}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """One row for each promise: what it means, whether it was kept, the first case if not."""
        import pandas as pd

        rows = [
            (key, meaning, key not in self.failures, self.failures.get(key, ""))
            for key, meaning in PROMISES.items()
        ]
        return pd.DataFrame(rows, columns=["promise", "meaning", "kept", "case"])


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
        If `strategy` makes no strategy.

    Notes
    -----
    Requests are of sizes up to half the mesh, now and then up to all of it, on meshes with sides
    that are powers of two and others. A pass is evidence, no proof.
    """
    operations = whole_number("operations", operations, least=1)
    seed = whole_number("seed", seed, least=0)
    if not callable(strategy):
        raise ModelError(
            f"give a strategy class or a function that makes one, got {strategy!r:.60}"
        )
    try:
        made = strategy()
    except TypeError as error:
        raise ModelError(
            f"{strategy!r:.80} cannot be made without arguments ({error}); wrap it in "
            "functools.partial"
        ) from error
    if not isinstance(made, AbstractStrategy):
        raise ModelError(f"{strategy!r:.80} makes {type(made).__name__}, no AbstractStrategy")
    trial = _Trial(strategy, made.name, {})
    for sides in SIDES + LAYERED:
        trial.on(sides, operations, np.random.default_rng([seed, *sides]))
    if not trial.meshes:
        trial.failures.setdefault("defined", "refuses every mesh that was tried")
    return StrategyCheck(
        made.name, trial.requests, trial.refused, tuple(trial.meshes), trial.failures
    )


class _Trial:
    """One run of the contract: it keeps count and notes the first case of each broken promise."""

    def __init__(
        self, make: Callable[[], AbstractStrategy], name: str, failures: dict[str, str]
    ) -> None:
        self.make, self.name, self.failures = make, name, failures
        self.requests = self.refused = 0
        self.meshes: list[str] = []

    def on(self, sides: tuple[int, ...], operations: int, rng: np.random.Generator) -> None:
        """A random history on one mesh, then everything released and given out again."""
        rows, columns, *layers = sides
        mesh = Mesh(rows, columns, layers[0] if layers else 1)
        label = " x ".join(map(str, sides))
        try:
            self.make().choose(mesh, Request(1))
        except ModelError:
            return
        except Exception as error:
            self.failures.setdefault("defined", f"{type(error).__name__} on {label}: {error}")
            return
        self.meshes.append(label)
        try:
            self._history(mesh, label, operations, rng)
        except Exception as error:
            self.failures.setdefault("history", f"{type(error).__name__} on {label}: {error}")

    def _history(self, mesh: Mesh, label: str, operations: int, rng: np.random.Generator) -> None:
        strategy, twin = self.make(), self.make()
        empty = [self._ask(strategy, twin, mesh, Request(size), label) for size in (1, mesh.nodes)]
        impossible = strategy.choose(mesh, Request(mesh.nodes + 1))
        if impossible is not None:
            self.failures.setdefault("impossible", f"gave {len(impossible)} nodes of {label}")
        strategy, twin = self.make(), self.make()
        for job, request in enumerate(_requests(mesh, operations, rng)):
            while mesh.jobs and rng.random() < 0.45:
                mesh.release(list(mesh.jobs)[int(rng.integers(len(mesh.jobs)))])
            nodes = self._ask(strategy, twin, mesh, request, label)
            if nodes is not None:
                mesh.occupy(job, nodes)
        jobs = list(mesh.jobs)
        for i in rng.permutation(len(jobs)):
            mesh.release(jobs[i])
        strategy, twin = self.make(), self.make()
        again = [self._ask(strategy, twin, mesh, Request(size), label) for size in (1, mesh.nodes)]
        if not all(map(_same, empty, again)):
            self.failures.setdefault("history", f"answers differently on {label}, empty again")

    def _ask(
        self,
        strategy: AbstractStrategy,
        twin: AbstractStrategy,
        mesh: Mesh,
        request: Request,
        label: str,
    ) -> Ints | None:
        """One request, checked; nodes that may be occupied, or None."""
        before, free = mesh.busy.copy(), mesh.free
        case = f"{request.size} nodes of {label}, {free} free"
        nodes = strategy.choose(mesh, request)
        self.requests += 1
        self.refused += nodes is None
        note = self.failures.setdefault
        if not np.array_equal(mesh.busy, before):
            note("pure", f"{case}: the mesh is changed")
        if not _same(nodes, twin.choose(mesh, request)):
            note("repeatable", f"{case}: two answers")
        if nodes is None:
            if strategy.kind == "exact" and request.size <= free:
                note("refusal", f"{case}: refused")
            if strategy.kind != "contiguous" and request.size <= free == mesh.nodes:
                note("refusal", f"{case}: refused on the empty mesh")
            return None
        given = np.asarray(nodes)
        if (
            given.ndim != 1
            or given.dtype.kind not in "iu"
            or given.size == 0
            or (np.diff(given) <= 0).any()
            or given[0] < 0
            or given[-1] >= mesh.nodes
            or before.ravel()[given].any()
        ):
            note("free nodes", f"{case}: gave {nodes!r:.80}")
            return None
        exact = given.size == request.size
        if not (exact or (strategy.kind == "pages" and given.size > request.size)):
            note("amount", f"{case}: gave {given.size}")
        if strategy.kind == "contiguous":
            box = np.ptp(mesh.coordinates(given), axis=0) + 1
            if np.prod(box) != given.size:
                note("amount", f"{case}: gave {given.size} in a box of {np.prod(box)}")
        return given


def _requests(mesh: Mesh, operations: int, rng: np.random.Generator) -> Iterator[Request]:
    for _ in range(operations):
        most = mesh.nodes if rng.random() < 0.1 else max(1, mesh.nodes // 2)
        yield Request(int(np.exp(rng.uniform(0.0, np.log(most))) + 0.5))


def _same(one: Any, other: Any) -> bool:
    """Whether two answers are equal."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
