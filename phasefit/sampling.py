"""Drawing from an absorption time: gamma variates where phases are alike, else a walk."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from phasefit.absorption import Chain
from phasefit.arrays import Array
from phasefit.errors import ModelError

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator(name: str, source: RandomState) -> np.random.Generator:
    """Return the generator that the argument `name` means; a RandomState advances by one draw.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    source : None, int, numpy Generator or RandomState
        None takes fresh entropy.

    Raises
    ------
    ModelError
        If `source` is none of these.
    """
    if isinstance(source, np.random.Generator):
        return source
    if isinstance(source, np.random.RandomState):
        return np.random.default_rng(source.randint(2**32, size=4, dtype=np.uint32))
    if source is None:
        return np.random.default_rng()
    try:
        seed = -1 if isinstance(source, bool) else operator.index(source)
    except TypeError:
        seed = -1
    if seed < 0:
        raise ModelError(
            f"{name} must be None, a whole number >= 0, a Generator or a RandomState, got {source!r:.80}"
        )
    return np.random.default_rng(seed)


def dimensions(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return `size` as a shape; None is the shape of a number.

    Parameters
    ----------
    size : int, tuple of ints or None
        As numpy's generators take it.

    Raises
    ------
    ModelError
        If it is none of these, or negative.
    """
    if size is None:
        return ()
    lengths = size if isinstance(size, tuple | list) else (size,)
    try:
        shape = tuple(-1 if isinstance(n, bool) else operator.index(n) for n in lengths)
    except TypeError:
        shape = (-1,)
    if min(shape, default=0) < 0:
        raise ModelError(f"size must be whole numbers >= 0 or None, got {size!r:.80}")
    return shape


def draw(chain: Chain, count: int, rng: np.random.Generator) -> Array:
    """Draw absorption times.

    Parameters
    ----------
    chain : Chain
        The chain, in its own unit of time.
    count : int
        Number of times to draw.
    rng : numpy.random.Generator
        Where randomness comes from.

    Returns
    -------
    (count,) ndarray
        In the unit of the chain.
    """
    n = chain.start.size
    onward = chain.jumps.diagonal(1)
    in_a_row = not chain.exit[:-1].any() and np.count_nonzero(chain.jumps) == n - 1 == (
        np.count_nonzero(onward)
    )
    if not in_a_row or np.ptp(chain.rates) > 0.0:
        return _walk_to_absorption(chain, count, rng)
    if n == 1 and chain.atom == 0.0:
        return np.asarray(rng.standard_exponential(count) / chain.exit[0])
    # Equal phases in a row: only the number of those still to come matters.
    reach = np.cumsum(chain.start)
    if chain.start[0] > 0.5 and chain.atom == 0.0 and chain.start[0] == reach[-1]:
        return np.asarray(rng.standard_gamma(n, count) / chain.exit[-1])
    entered = np.minimum(np.searchsorted(reach, rng.random(count), side="right"), n)
    if chain.atom == 0.0:
        entered = np.minimum(entered, int(np.flatnonzero(chain.start)[-1]))
    return np.asarray(rng.standard_gamma(n - entered) / chain.exit[-1])


def _walk_to_absorption(chain: Chain, count: int, rng: np.random.Generator) -> Array:
    from phasefit import _kernels  # compiling takes its time; few callers draw

    start_cdf, start_phase = _cumulative_table(np.append(chain.start, chain.atom)[None, :])
    jump_cdf, jump_phase = _cumulative_table(np.column_stack([chain.jumps, chain.exit]))
    out = np.empty(count)
    _kernels.walk_to_absorption(
        start_cdf[0], start_phase[0], jump_cdf, jump_phase, 1.0 / chain.rates, rng, out
    )
    return out


def draw_events(
    jumps: Array, events: Sequence[Array], start: Array, count: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """Draw successive times between events of a chain, the first one from `start`, and their kinds.

    Parameters
    ----------
    jumps : (n, n) ndarray
        Rates of the jumps without an event, with a zero diagonal.
    events : sequence of (n, n) ndarray
        Rates of the jumps with an event, for each kind.
    start : (n,) ndarray
        Probability of each phase at the beginning.
    count : int
        Number of times to draw.
    rng : numpy.random.Generator
        Where randomness comes from.

    Returns
    -------
    (count,) ndarray
        In the unit of the rates.
    (count,) ndarray of int
        Kind of each event, by its place in `events`.
    """
    table = np.column_stack([jumps, *events])
    rates = table.sum(axis=1)
    if table.shape == (1, 2):
        return np.asarray(rng.standard_exponential(count) / rates[0]), np.zeros(count, dtype=np.int64)
    from phasefit import _kernels  # compiling takes its time; few callers draw

    start_cdf, start_phase = _cumulative_table(start[None, :])
    jump_cdf, jump_to = _cumulative_table(table)
    out, kinds = np.empty(count), np.empty(count, dtype=np.int64)
    _kernels.walk_from_event_to_event(
        start_cdf[0], start_phase[0], jump_cdf, jump_to, 1.0 / rates, rng, out, kinds
    )
    return out, kinds


def _cumulative_table(weights: Array) -> tuple[Array, NDArray[np.int64]]:
    """Cumulative probabilities of each row, most probable first, and what they belong to."""
    order = np.argsort(-weights, axis=1, kind="stable")
    descending = np.take_along_axis(weights, order, axis=1)
    cdf = np.cumsum(descending, axis=1)
    cdf /= cdf[:, -1:]
    # Rounding must never lead to a place of probability zero.
    cdf[np.arange(len(cdf)), np.count_nonzero(weights, axis=1) - 1] = 1.0
    return cdf, order.astype(np.int64)
