"""Slices refused at once, exactly: any blocks, and boxes in small pods; and availability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import positive_vector, real_number, share, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import MemoryBudgetError, ModelError
from validation.slices import _kernels as kernels
from validation.slices.chains import stationary_law
from validation.slices.placement import is_contiguous, nothing_held, place_of, strategy_name, usual_strategy
from validation.slices.pod import Pod, Shape, SliceMix, as_shape, in_text

if TYPE_CHECKING:
    import pandas as pd


#: Layouts of the largest chain that is made: some seconds.
MOST_STATES = 50_000


@dataclass(frozen=True, eq=False)
class SliceLosses(Result):
    """Shares of the jobs that are refused; `method` says whether they are exact."""

    drawing = Drawing("slice", "refused", labels=("slice", "share of the jobs refused"))

    pod: Pod
    strategy: str
    shapes: tuple[Shape, ...]
    loads: tuple[float, ...]  #: of each shape: arrival rate times mean time
    refused: tuple[float, ...]  #: share of the jobs of each shape
    utilisation: float  #: share of the chips that are held
    states: int  #: of the chain, or terms of the recursion
    method: str = "exact"

    def to_frame(self) -> pd.DataFrame:
        """One row for each shape."""
        import pandas as pd

        names = [in_text(shape) for shape in self.shapes]
        return pd.DataFrame({"slice": names, "load": self.loads, "refused": self.refused})


def slice_losses(
    pod: Pod,
    shapes: SliceMix | Sequence[Shape] | str,
    loads: float | Sequence[float],
    *,
    strategy: str | None = None,
    means: Sequence[float] | None = None,
) -> SliceLosses:
    """How many jobs are refused that do not wait: exact.

    Parameters
    ----------
    pod : Pod
        The blocks.
    shapes : SliceMix, str, or sequence of (int, int, int)
        A mix or its name, with one load of all; or shapes, with a load for each.
    loads : float or sequence of float
        Share of all chips asked for; or, for each shape, its arrival rate times its mean time.
    strategy : str, optional
        As for `simulate_slices`.
    means : sequence of float, optional
        Mean time of each shape where shapes are given, seconds; by default 1.

    Returns
    -------
    SliceLosses

    Raises
    ------
    ModelError
        If a slice does not fit, or a number is out of its range.
    MemoryBudgetError
        If the chain of placed boxes has more than 50,000 layouts; simulate then.

    Notes
    -----
    Arrivals are Poisson. Any blocks: k q(k) = sum over i of a_i s_i q(k - s_i), q(k) the
    probability of k blocks held up to a factor [1]_, [2]_; only the means of the times matter.
    So it is for the strategies "3d-torus", which refuses as "any-blocks" does.

    Boxes: a Markov chain whose states are the boxes placed, found from the empty pod with the
    strategy itself. Times are exponential there, and their law does matter.

    References
    ----------
    .. [1] J. S. Kaufman, "Blocking in a shared resource environment", *IEEE Trans. Commun.* 29
       (1981) 1474-1481.
    .. [2] J. W. Roberts, "A service system with heterogeneous user requirements", in *Performance
       of Data Communications Systems and Their Applications*, North-Holland 1981, 423-431.

    Examples
    --------
    >>> found = slice_losses(Pod((4, 1, 1), switch=True), [(1, 1, 1), (2, 1, 1)], [1.0, 0.6])
    >>> [round(share, 8) for share in found.refused]
    [0.11887581, 0.29358147]
    >>> rings = slice_losses(Pod((4, 1, 1)), [(1, 1, 1), (2, 1, 1)], [1.0, 0.6])
    >>> [round(share, 8) for share in rings.refused], rings.states
    ([0.11412217, 0.31013569], 34)
    """
    name = strategy_name(strategy or usual_strategy(pod))
    if isinstance(shapes, str | SliceMix):
        mix = SliceMix.of(shapes, pod)
        if not isinstance(loads, int | float) or means is not None:
            raise ModelError("a mix has means of its own and takes one load")
        rate = mix.arrival_rate(pod, real_number("loads", loads, above=0.0))
        own, times = mix.shapes, np.array(mix.means)
        erlangs = rate * np.array(mix.weights) * times
    else:
        own = tuple(as_shape(f"shapes[{i}]", shape) for i, shape in enumerate(shapes))
        erlangs = positive_vector("loads", np.atleast_1d(np.asarray(loads, float)))
        times = positive_vector("means", np.ones(len(own)) if means is None else np.asarray(means))
        if not len(own) == erlangs.size == times.size:
            raise ModelError(f"{len(own)} shapes need as many loads and means")
    if any(pod.is_small(shape) for shape in own):
        raise ModelError(
            "a part of a block has no exact answer here: where it lies decides whether a block "
            "is opened. Simulate it, with discipline 'loss'"
        )
    place = place_of(pod, own, name)
    if is_contiguous(name) or place.strategy == kernels.RUNS:
        refused, used, states = _placed(pod, place, erlangs / times, 1.0 / times)
    else:
        refused, used, states = _counted(pod.count, place.volume, erlangs)
    return SliceLosses(
        pod, name, own, tuple(erlangs.tolist()), tuple(refused.tolist()), used / pod.count, states
    )


def _counted(blocks: int, sizes: Ints, loads: Array) -> tuple[Array, float, int]:
    """Kaufman's recursion, with the numbers kept within range."""
    q = np.zeros(blocks + 1)
    q[0] = 1.0
    work = loads * sizes
    for k in range(1, blocks + 1):
        fits = sizes <= k
        q[k] = np.dot(work[fits], q[k - sizes[fits]]) / k
        if q[k] > 1e200:
            q[: k + 1] /= q[k]
    q /= q.sum()
    refused = np.array([q[blocks - size + 1 :].sum() for size in sizes])
    return refused, float(np.arange(blocks + 1) @ q), blocks + 1


def _placed(pod: Pod, place: kernels.Place, rates: Array, ends: Array) -> tuple[Array, float, int]:
    """The chain of placed boxes; a box that ends leaves at the rate of its class."""
    speeds, kind = np.unique(ends, return_inverse=True)
    held = nothing_held(pod)
    start: _Layout = ()
    known, todo = {start: 0}, [start]
    moves: list[tuple[int, int, float]] = []
    blocked, used = [], []
    for layout in todo:
        here = known[layout]
        _lay(held, layout)
        used.append(pod.count - int(held.free[0]))
        full = np.zeros(rates.size)
        nexts = []
        for c, rate in enumerate(rates.tolist()):
            if not kernels.finds(place, held, c, True):
                full[c] = 1.0
                continue
            kernels.listed(place, held, c)
            box = sum(1 << block for block in held.nodes[: place.volume[c]].tolist())
            nexts.append((tuple(sorted((*layout, (box, int(kind[c]))))), rate))
        blocked.append(full)
        for i, (_, speed) in enumerate(layout):
            nexts.append((layout[:i] + layout[i + 1 :], float(speeds[speed])))
        for other, rate in nexts:
            if other not in known:
                if len(known) == MOST_STATES:
                    raise MemoryBudgetError(
                        f"boxes lie in more than {MOST_STATES:,} ways in a pod of "
                        f"{in_text(pod.blocks)}: too many for an exact answer. Simulate instead, "
                        "with discipline 'loss'"
                    )
                known[other] = len(known)
                todo.append(other)
            moves.append((here, known[other], rate))
    pi = stationary_law(moves, len(known))
    return pi @ np.array(blocked), float(pi @ np.array(used)), len(known)


#: Boxes as bits of their blocks, each with its rate of ending; sorted.
_Layout = tuple[tuple[int, int], ...]


def _lay(held: kernels.Held, layout: _Layout) -> None:
    """Show a layout to the strategy."""
    together = 0
    for box, _ in layout:
        together |= box
    for block in range(held.busy.size):
        held.busy[block] = together >> block & 1
    held.free[0] = held.busy.size - together.bit_count()


@dataclass(frozen=True)
class SliceAvailability(Result):
    """Share of a pod's blocks in whole slices of a size whose blocks are all up, on average."""

    drawing = Drawing("", ("any_blocks", "fixed_places"))

    blocks: int  #: of a slice
    block_up: float  #: probability that a block is up
    any_blocks: float  #: behind a switch, which joins any blocks that are up
    fixed_places: float  #: where slices have places of their own
    method: str = "exact"


def slice_availability(
    pod: Pod, slice_: Sequence[int] | int | str, *, host: float = 0.99, hosts: int = 16
) -> SliceAvailability:
    """How much of a pod is there for slices of one size when hosts fail.

    Parameters
    ----------
    pod : Pod
    slice_ : (int, int, int), str, or int
        A slice of whole blocks, or its number of blocks.
    host : float
        Probability that a host is up, independently of the others.
    hosts : int
        Hosts of a block, all of which it needs.

    Returns
    -------
    SliceAvailability

    Raises
    ------
    ModelError
        If the slice does not fit the pod, or is no whole blocks.

    Notes
    -----
    A block is up with q = host^hosts. With U blocks up, binomial, of n, slices of s blocks get
    E floor(U / s) s / n behind a switch, and q^s where each has a place of its own.

    Examples
    --------
    >>> found = slice_availability(Pod((4, 4, 4)), 16, host=0.99)
    >>> round(found.any_blocks, 6), round(found.fixed_places, 6)
    (0.747358, 0.076315)
    """
    from scipy.stats import binom

    if isinstance(slice_, int | np.integer) and not isinstance(slice_, bool):
        size = whole_number("slice_", slice_, least=1)
        if size > pod.count:
            raise ModelError(f"a slice of {size} blocks is more than the pod's {pod.count}")
    else:
        shape = as_shape("slice_", slice_)  # type: ignore[arg-type]
        if pod.is_small(shape):
            raise ModelError(
                f"{in_text(shape)} is a part of a block of {in_text(pod.block)}; give whole blocks"
            )
        size = math.prod(pod.turns(shape, anywhere=True)[0])
    up = share("host", host) ** whole_number("hosts", hosts, least=1)
    blocks = np.arange(pod.count + 1)
    whole = float(binom.pmf(blocks, pod.count, up) @ (blocks // size * size)) / pod.count
    return SliceAvailability(size, up, whole, up**size)
