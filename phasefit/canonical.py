"""One law, many representations: the canonical one of acyclic laws, and shorter ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phasefit.absorption import Chain, eliminate, solve_left
from phasefit.arrays import Array
from phasefit.checks import finite_rates, real_number
from phasefit.errors import ModelError
from phasefit.phase_type import PhaseType

#: How many moments a cancelled pole must leave alone.
_MOMENTS: Final = 8


class _Rates(NamedTuple):
    """A chain that is to be absorbed: start (n,), jumps (n, n) and exit rates (n,)."""

    start: Array
    jumps: Array
    exit: Array


@dataclass(frozen=True, eq=False)
class _Series:
    """Phases in a row: rising rates (n,), entered at each with probability `start` (n,)."""

    rates: Array
    start: Array

    def moments(self, count: int) -> Array:
        """Raw moments 1, ..., count; infinite or NaN where a float cannot hold them."""
        v, moments = np.ones(self.rates.size), np.empty(count)
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(count):
                v = np.cumsum(((k + 1) * v / self.rates)[::-1])[::-1]
                moments[k] = self.start @ v
        return moments


def canonical_form(law: PhaseType) -> PhaseType:
    """Write an acyclic law as phases in a row, from the slowest to the fastest.

    Parameters
    ----------
    law : PhaseType
        A law whose chain never comes back to a phase it has left.

    Returns
    -------
    PhaseType
        The same law as a series of phases with rates that do not fall, left at the end only and
        entered anywhere: Cumani's first canonical form. Its rates are the total rates of the
        phases of `law` that the start leads to, without slow ones that are never entered.

    Raises
    ------
    ModelError
        If the chain has a cycle, or `law` is not a `PhaseType`.

    Notes
    -----
    Phases are put in from the last to the first, after L(d) = (d/u) L(u) + (1 - d/u) L(d) L(u)
    for the transforms L of exponential laws with rates d <= u. All terms are non-negative, so
    that the entrance probabilities keep relative accuracy. Time O(n^3).

    References
    ----------
    .. [1] A. Cumani, "On the canonical representation of homogeneous Markov processes
       modelling failure-time distributions", *Microelectronics and Reliability* 22 (1982)
       583-602.

    Examples
    --------
    >>> burst = canonical_form(PhaseType.hyperexponential(weights=[0.5, 0.5], means=[1.0, 4.0]))
    >>> burst.alpha
    array([0.375, 0.625])
    >>> -burst.T.diagonal()
    array([0.25, 1.  ])
    """
    chain = _reachable_chain(law)
    rates = _Rates(chain.start, chain.jumps, chain.exit)
    after = _backward_order(rates.jumps)
    if len(after) < rates.start.size:
        phase = int(chain.phases[_phase_on_a_cycle(rates.jumps, after)])
        raise ModelError(
            f"the law has a cycle through phase {phase}: only an acyclic law, whose phases can be "
            f"ordered so that jumps lead forward only, has this canonical form"
        )
    series = _series_of_acyclic(rates, after)
    first = int((series.start > 0.0).argmax())
    made = _law_of_series(_Series(series.rates[first:], series.start[first:]), chain)
    return made._with_origin(law.fitted_to)


def reduce_order(law: PhaseType, *, tol: float = 1e-12) -> PhaseType:
    """Write a law in fewer phases where its representation is redundant.

    Parameters
    ----------
    law : PhaseType
        Any law.
    tol : float, optional
        Rates that differ by less than this share count as equal, and as much probability may be
        moved in all when poles are cancelled; above zero, at most 1e-6.

    Returns
    -------
    PhaseType
        The same law, or one whose `sf` differs by a few `tol` at most; `law` itself where nothing
        was found to be redundant.

    Raises
    ------
    ModelError
        If `law` is not a `PhaseType`, or `tol` is out of its range.

    Notes
    -----
    Three steps. Phases that the start never leads to are dropped. Phases are merged that have
    equal rates to every class of merged phases [1]_, in the chain and in the chain run backward
    in time. In the canonical form of an acyclic law, a rate is struck out where the transform
    has no pole; that must leave the first eight moments alone, to a hundred times `tol`. The
    order reached is the least for most acyclic laws, not for all: a law may need more phases
    than its transform has poles, and rounding may hide a cancellation.

    References
    ----------
    .. [1] J. G. Kemeny, J. L. Snell, *Finite Markov Chains*, Van Nostrand 1960, section 6.3.

    Examples
    --------
    Three equal machines, until the last one is down: seven phases, three of which are enough.

    >>> from phasefit import maximum
    >>> machine = PhaseType.exponential(mean=2.0)
    >>> both = maximum(maximum(machine, machine), machine)
    >>> both.order, reduce_order(both).order
    (7, 3)
    """
    tol = real_number("tol", tol, above=0.0)
    if tol > 1e-6:
        raise ModelError(f"tol must be at most 1e-06, got {tol:.6g}")
    chain = _reachable_chain(law)
    rates = _Rates(chain.start, chain.jumps, chain.exit)
    size = 0
    while size != rates.start.size:
        size = rates.start.size
        rates = _lumped_in_reverse(_lumped_chain(rates, tol), tol)
    after = _backward_order(rates.jumps)
    if len(after) == size:
        series = _without_cancelled_poles(_series_of_acyclic(rates, after), tol)
        if series.rates.size < size:
            return _law_of_series(series, chain)._with_origin(law.fitted_to)
    if size == law.order:
        return law
    reduced = PhaseType.from_rates(
        rates.start,
        _rates_per_second(rates.jumps, chain),
        _rates_per_second(rates.exit, chain),
        atom=law.atom,
    )
    return reduced._with_origin(law.fitted_to)


def _reachable_chain(law: PhaseType) -> Chain:
    if not isinstance(law, PhaseType):
        raise ModelError(f"law must be a PhaseType, got {law!r:.80}")
    return Chain.reachable(law.alpha, law.jumps, law.exit, law.atom)


def _rates_per_second(rates: Array, chain: Chain) -> Array:
    """Rates in the unit of the law from those in the unit of its chain."""
    with np.errstate(over="ignore"):
        return finite_rates(np.ldexp(rates, chain.exponent))


def _law_of_series(series: _Series, chain: Chain) -> PhaseType:
    rates = _rates_per_second(series.rates, chain)
    exits = np.zeros(rates.size)
    exits[-1] = rates[-1]
    return PhaseType.from_rates(series.start, np.diag(rates[:-1], 1), exits, atom=chain.atom)


# Canonical form


def _backward_order(jumps: Array) -> list[int]:
    """Phases in an order in which jumps lead back only; those that lead to a cycle are missing."""
    edges = jumps > 0.0
    left = edges.sum(axis=1)
    order = np.flatnonzero(left == 0).tolist()
    for phase in order:  # grows on the way
        before = np.flatnonzero(edges[:, phase])
        left[before] -= 1
        order.extend(before[left[before] == 0].tolist())
    return order


def _phase_on_a_cycle(jumps: Array, after: list[int]) -> int:
    """A phase of a cycle: follow jumps that stay among the phases not in `after`."""
    inside = np.ones(jumps.shape[0], dtype=bool)
    inside[after] = False
    phase, seen = int(inside.argmax()), set[int]()
    while phase not in seen:
        seen.add(phase)
        phase = int(((jumps[phase] > 0.0) & inside).argmax())
    return phase


def _series_of_acyclic(chain: _Rates, order: list[int]) -> _Series:
    """Canonical form of an acyclic chain; `order` as `_backward_order` gives it.

    Row i of `entries` says where a chain that starts in phase i enters the series of the phases
    done so far.
    """
    n = chain.start.size
    total = chain.jumps.sum(axis=1) + chain.exit
    rates, entries = np.empty(0), np.zeros((n, n))
    for m, phase in enumerate(order):
        d = total[phase]
        at = int(np.searchsorted(rates, d))
        jump = chain.jumps[phase] / d
        follow = np.append(jump @ entries[:, :m], chain.exit[phase] / d)
        wider = np.zeros((n, m + 1))
        slow = rates[:at] / d
        wider[:, :at] = entries[:, :at] * ((d - rates[:at]) / d)
        wider[:, 1 : at + 1] += entries[:, :at] * slow
        wider[:, at + 1 :] = entries[:, at:m]
        wider[phase] = _entrances_preceded_by(rates, follow, d, at)
        entries[:, : m + 1] = wider
        rates = np.insert(rates, at, d)
    return _Series(rates, chain.start @ entries)


def _entrances_preceded_by(rates: Array, follow: Array, d: float, at: int) -> Array:
    """Entrances of a phase of rate `d` and then, with probability `follow`, the rest of a series.

    `rates` (m,) are those of the series, into which `d` comes at place `at`; `follow` (m + 1,)
    counts the end as the last place. Result (m + 1,) in the longer series.
    """
    entries = follow.copy()
    carried = 0.0
    for k in range(rates.size, at, -1):
        carried += follow[k]
        entries[k] = carried * (d / rates[k - 1])
        carried *= (rates[k - 1] - d) / rates[k - 1]
    entries[at] += carried
    return entries


# Reduction


def _lumped_chain(chain: _Rates, tol: float) -> _Rates:
    """Merge phases with equal rates to absorption and to every other class."""
    label = _class_labels(chain, tol)
    count = int(label.max()) + 1
    if count == label.size:
        return chain
    member = np.equal.outer(np.arange(count), label).astype(float)
    mean = member / member.sum(axis=1, keepdims=True)
    jumps = mean @ chain.jumps @ member.T
    np.fill_diagonal(jumps, 0.0)
    return _Rates(member @ chain.start, jumps, mean @ chain.exit)


def _class_labels(chain: _Rates, tol: float) -> NDArray[np.intp]:
    """Label (n,) of the class of each phase: split one class until its members agree."""
    n = chain.start.size
    label, count = np.zeros(n, dtype=np.intp), 1
    while True:
        member = np.equal.outer(label, np.arange(count)).astype(float)
        rates = chain.jumps @ member
        rates[np.arange(n), label] = 0.0  # jumps within a class are not seen from outside
        signature = np.column_stack([rates, chain.exit])
        finer, classes = np.empty(n, dtype=np.intp), 0
        for old in range(count):
            rest = np.flatnonzero(label == old)
            while rest.size:
                first, here = signature[rest[0]], signature[rest]
                same = (np.abs(here - first) <= tol * np.maximum(here, first)).all(axis=1)
                finer[rest[same]] = classes
                rest, classes = rest[~same], classes + 1
        if classes == count:
            return label
        label, count = finer, classes


def _lumped_in_reverse(chain: _Rates, tol: float) -> _Rates:
    """`_lumped_chain` for the chain run backward in time from its absorption, and forward again."""
    before = _reversed_chain(chain)
    merged = _lumped_chain(before, tol) if before else None
    again = _reversed_chain(merged) if merged and merged is not before else None
    return again or chain


def _reversed_chain(chain: _Rates) -> _Rates | None:
    """The chain run backward in time; None where a phase is too rare for that in floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        spent = solve_left(eliminate(chain.jumps, chain.exit), chain.start)
    if not 1e-100 < spent.min() <= spent.max() < 1e100:
        return None
    jumps = chain.jumps.T * (spent / spent[:, None])
    return _Rates(chain.exit * spent, jumps, chain.start / spent)


def _without_cancelled_poles(series: _Series, tol: float) -> _Series:
    """Strike out the rates at which the transform of the series has no pole."""
    kept = series.moments(_MOMENTS)
    if not np.isfinite(kept).all() or kept.min() == 0.0:
        return series
    total, at = series.start.sum(), series.rates.size - 1
    left = tol / 2.0 * total
    while at >= 0 and series.rates.size > 1:
        at = int(np.searchsorted(series.rates, series.rates[at]))  # the first of equal rates
        start, lost = _entrances_without(series, at)
        moved = start.sum()
        if lost <= left and moved > 0.0:
            shorter = _Series(np.delete(series.rates, at), start * (total / moved))
            change = np.abs(shorter.moments(_MOMENTS) / kept - 1.0)
            if change.max() <= 100.0 * tol:
                series, left = shorter, left - lost
                at = series.rates.size
        at -= 1
    return series


def _entrances_without(series: _Series, at: int) -> tuple[Array, float]:
    """Entrances (n - 1,) of the series without place `at`, and the probability that it costs.

    Undoes what `_series_of_acyclic` does to the slower phases; what is left over at the place itself,
    and entrances below zero, are the price.
    """
    rates, d = series.rates, series.rates[at]
    start = np.delete(series.start, at)
    passed = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(at):
            start[k] = (series.start[k] - passed) * (d / (d - rates[k]))
            passed = start[k] * (rates[k] / d)
        lost = abs(series.start[at] - passed) - start[start < 0.0].sum()
    if not np.isfinite(lost):
        return start, np.inf
    return np.maximum(start, 0.0), float(lost)
