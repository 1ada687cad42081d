"""Phase-type laws made of phase-type laws: sums, choices, races, and what is left of a wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import fsum

import numpy as np
from numpy.typing import ArrayLike

from phasefit.absorption import Chain, solve_left, transient
from phasefit.arrays import Array
from phasefit.checks import probability_vector, real_number, share, within_order
from phasefit.errors import ModelError
from phasefit.fitted_to import origin_of
from phasefit.phase_type import PhaseType

#: What is too large for one chain can be had from its parts.
_KEEP = "the {} as one chain (phasefit.Extreme keeps the parts instead)"


def convolve(*laws: PhaseType) -> PhaseType:
    """Return the law of the sum of independent variables.

    Parameters
    ----------
    *laws : PhaseType
        At least one.

    Returns
    -------
    PhaseType
        Its order is the sum of the orders.

    Raises
    ------
    ModelError
        If no law is given, or the order would exceed 4000.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, sec. 2.2.

    Examples
    --------
    A job reads for two seconds and computes for three, on average:

    >>> convolve(PhaseType.exponential(mean=2.0), PhaseType.exponential(mean=3.0))
    PhaseType(order=2, mean=5, scv=0.52)
    """
    _check_laws(laws)
    n = within_order("the sum", sum(law.order for law in laws))
    jumps, exits, alpha = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    ends = np.cumsum([law.order for law in laws])
    blocks = [slice(end - law.order, end) for law, end in zip(laws, ends.tolist(), strict=True)]
    skipped = 1.0  # the summands so far are all zero
    for k, (law, here) in enumerate(zip(laws, blocks, strict=True)):
        alpha[here] = skipped * law.alpha
        skipped *= law.atom
        jumps[here, here] = law.jumps
        through = law.exit
        for later, there in zip(laws[k + 1 :], blocks[k + 1 :], strict=True):
            jumps[here, there] = np.outer(through, later.alpha)
            through = through * later.atom
            if later.atom == 0.0:
                break
        exits[here] = through
    law = PhaseType.from_rates(alpha, jumps, exits, atom=skipped)
    return law._with_origin(origin_of(*laws))


def mixture(weights: ArrayLike, laws: Sequence[PhaseType]) -> PhaseType:
    """Return the law of a variable drawn from one of several laws.

    Parameters
    ----------
    weights : (k,) array_like
        Probability of each law; they sum to one.
    laws : sequence of k PhaseType
        The laws to draw from, at least one.

    Returns
    -------
    PhaseType
        Its order is the sum of the orders.

    Raises
    ------
    ModelError
        If the weights are negative, do not sum to one or do not go with the laws.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, sec. 2.2.

    Examples
    --------
    >>> short, long = PhaseType.exponential(mean=1.0), PhaseType.erlang(phases=2, mean=11.0)
    >>> round(mixture([0.9, 0.1], [short, long]).mean, 12)
    2.0
    """
    weight = probability_vector("weights", weights)
    laws = _check_laws(laws)
    if weight.size != len(laws):
        raise ModelError(f"{weight.size} weights do not go with {len(laws)} laws")
    n = within_order("the mixture", sum(law.order for law in laws))
    jumps, end = np.zeros((n, n)), 0
    for law in laws:
        here = slice(end, end + law.order)
        jumps[here, here] = law.jumps
        end += law.order
    mixed = PhaseType.from_rates(
        np.concatenate([w * law.alpha for w, law in zip(weight, laws, strict=True)]),
        jumps,
        np.concatenate([law.exit for law in laws]),
        atom=fsum(w * law.atom for w, law in zip(weight, laws, strict=True)),
    )
    return mixed._with_origin(origin_of(*laws))


def minimum(*laws: PhaseType) -> PhaseType:
    """Return the law of the smallest of independent variables.

    Parameters
    ----------
    *laws : PhaseType
        At least one.

    Returns
    -------
    PhaseType
        Its order is the product of the orders.

    Raises
    ------
    ModelError
        If no law is given, or the order would exceed 4000.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, sec. 2.2.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> round(minimum(one, one, one).mean, 12)
    0.333333333333
    """
    return _law_of_all(_minimum_of_two, laws)


def _minimum_of_two(a: PhaseType, b: PhaseType) -> PhaseType:
    within_order(_KEEP.format("minimum"), a.order * b.order)
    exits = np.add.outer(a.exit, b.exit).ravel()
    atom = a.atom + b.atom * fsum(a.alpha)
    return PhaseType.from_rates(np.kron(a.alpha, b.alpha), _side_by_side(a, b), exits, atom=atom)


def maximum(*laws: PhaseType) -> PhaseType:
    """Return the law of the largest of independent variables.

    Parameters
    ----------
    *laws : PhaseType
        At least one.

    Returns
    -------
    PhaseType
        Its order, for two laws of orders m and n, is m n + m + n.

    Raises
    ------
    ModelError
        If no law is given, or the order would exceed 4000.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, sec. 2.2.

    Examples
    --------
    Three processes of mean one end together after 1 + 1/2 + 1/3:

    >>> one = PhaseType.exponential(mean=1.0)
    >>> round(maximum(one, one, one).mean, 12)
    1.833333333333
    """
    return _law_of_all(_maximum_of_two, laws)


def _maximum_of_two(a: PhaseType, b: PhaseType) -> PhaseType:
    """Phases: both run, only `a` runs, only `b` runs."""
    m, n = a.order, b.order
    order = within_order(_KEEP.format("maximum"), m * n + m + n)
    both, first, second = slice(0, m * n), slice(m * n, m * n + m), slice(m * n + m, order)
    jumps = np.zeros((order, order))
    jumps[both, both] = _side_by_side(a, b)
    jumps[both, first] = np.kron(np.eye(m), b.exit[:, None])
    jumps[both, second] = np.kron(a.exit[:, None], np.eye(n))
    jumps[first, first], jumps[second, second] = a.jumps, b.jumps
    alpha = np.concatenate([np.kron(a.alpha, b.alpha), b.atom * a.alpha, a.atom * b.alpha])
    exits = np.concatenate([np.zeros(m * n), a.exit, b.exit])
    return PhaseType.from_rates(alpha, jumps, exits, atom=a.atom * b.atom)


def random_sum(
    law: PhaseType,
    *,
    stop: float | None = None,
    pmf: ArrayLike | None = None,
    none: float = 0.0,
) -> PhaseType:
    """Return the law of the sum of N independent copies, N random and independent of them.

    Parameters
    ----------
    law : PhaseType
        One summand.
    stop : float
        N is geometric: after each summand the sum stops with this probability, in (0, 1].
        ``P(N = k) = stop * (1 - stop)**(k - 1)`` for k = 1, 2, ..., with mean ``1 / stop``.
    pmf : (m,) array_like
        N is finite: P(N = 1), ..., P(N = m). Give either `stop` or `pmf`.
    none : float
        P(N = 0), in [0, 1); the geometric probabilities are multiplied by ``1 - none``, those of
        `pmf` sum to it.

    Returns
    -------
    PhaseType
        Of the order of `law` for a geometric N, and of m times that for a finite one.

    Raises
    ------
    ModelError
        If the probabilities are not such, both or neither of `stop` and `pmf` are given, or the
        order would exceed 4000.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, sec. 2.2.

    Examples
    --------
    A program alternates bursts of one second and ends after each with probability 1/4:

    >>> bursts = PhaseType.erlang(phases=4, mean=1.0)
    >>> round(random_sum(bursts, stop=0.25).mean, 12)
    4.0
    >>> random_sum(bursts, pmf=[0.5, 0.5])
    PhaseType(order=8, mean=1.5, scv=0.277778)
    """
    _check_laws([law])
    none = share("none", none)
    if none == 1.0:
        raise ModelError("none must be < 1, got 1: the sum would always be zero")
    if (stop is None) == (pmf is None):
        raise ModelError("give stop (geometric) or pmf (finite), and not both")
    if pmf is not None:
        made = _finite_sum(law, probability_vector("pmf", pmf, beside=none), none)
    else:
        stop = share("stop", 0.0 if stop is None else stop, zero=False)
        made = _geometric_sum(law, stop, none)
    return made._with_origin(origin_of(law))


def _geometric_sum(law: PhaseType, stop: float, none: float) -> PhaseType:
    """Restart from each exit; copies that are zero take no time and are passed over."""
    onward, positive = 1.0 - stop, fsum(law.alpha)
    either = stop + onward * positive  # of stopping and a positive copy, one must come first
    jumps = law.jumps + np.outer(law.exit, law.alpha) * (onward / either)
    np.fill_diagonal(jumps, 0.0)
    return PhaseType.from_rates(
        law.alpha * ((1.0 - none) / either),
        jumps,
        law.exit * (stop / either),
        atom=none + (1.0 - none) * law.atom * stop / either,
    )


def _finite_sum(law: PhaseType, pmf: Array, none: float) -> PhaseType:
    """One copy of the phases for each summand; copies that are zero are passed over."""
    pmf = np.trim_zeros(pmf, "b")
    m, n = pmf.size, law.order
    order = within_order("the sum", m * n)
    at_least = np.cumsum(pmf[::-1])[::-1]
    zeros = law.atom ** np.arange(m + 1)  # that many copies in a row are zero
    onward, stop = np.zeros((m, m)), np.empty(m)
    for k in range(m):
        onward[k, k + 1 :] = at_least[k + 1 :] / at_least[k] * zeros[: m - k - 1]
        stop[k] = (pmf[k:] / at_least[k]) @ zeros[: m - k]
    jumps = np.kron(np.eye(m), law.jumps)
    if m > 1:
        jumps += np.kron(onward, np.outer(law.exit, law.alpha))
    return PhaseType.from_rates(
        np.kron(at_least * zeros[:m], law.alpha),
        jumps.reshape(order, order),
        np.kron(stop, law.exit),
        atom=none + float(pmf @ zeros[1:]),
    )


def residual(law: PhaseType, age: float) -> PhaseType:
    """Return the law of what is left after `age` seconds, given that it is not over by then.

    Parameters
    ----------
    law : PhaseType
        Law of the whole, seconds.
    age : float
        Seconds, at least zero.

    Returns
    -------
    PhaseType
        Of the same order and without an atom.

    Raises
    ------
    ModelError
        If `age` is negative or not a finite number.

    Examples
    --------
    A burst that has lasted long is likely to be a long one:

    >>> burst = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[1.0, 10.0])
    >>> round(burst.mean, 6), round(residual(burst, 5.0).mean, 6)
    (1.9, 9.18196)
    """
    _check_laws([law])
    chain = _reachable_chain(law)
    with np.errstate(over="ignore"):
        elapsed = np.minimum(np.ldexp(real_number("age", age, least=0.0), chain.exponent), 1e300)
    phases, _, _ = transient(chain, elapsed[None])
    return _restarted(law, chain, phases[0])


def interrupted(law: PhaseType, rate: float, repair: PhaseType) -> PhaseType:
    """Return the law of work that is interrupted now and then, and goes on where it stopped.

    Parameters
    ----------
    law : PhaseType
        Seconds of work without interruptions.
    rate : float
        Interruptions per second of work, a Poisson process; at least zero.
    repair : PhaseType
        Seconds that one lasts.

    Returns
    -------
    PhaseType
        From the start of the work to its end. Its order is n (1 + r) for orders n and r.

    Raises
    ------
    ModelError
        If an argument is none of these, or the order would exceed 4000.

    References
    ----------
    .. [1] D. P. Gaver, "A waiting line with interrupted service, including priorities", *J. R. Stat.
       Soc. B* 24 (1962) 73-90.

    Examples
    --------
    A node fails every 100 hours and is back after four: a job of ten hours takes 10.4 on average.

    >>> hours = PhaseType.exponential(mean=10.0)
    >>> interrupted(hours, 0.01, PhaseType.exponential(mean=4.0))
    PhaseType(order=2, mean=10.4, scv=1.02959)
    """
    _check_laws([law, repair])
    rate = real_number("rate", rate, least=0.0)
    n, r = law.order, repair.order
    within_order("the interrupted work", n * (1 + r))
    if rate == 0.0:
        return law
    down = np.kron(np.eye(n), repair.alpha[None, :]) * rate
    back = np.kron(np.eye(n), repair.exit[:, None])
    jumps = np.block([[law.jumps, down], [back, np.kron(np.eye(n), repair.jumps)]])
    start, exits = (np.concatenate([part, np.zeros(n * r)]) for part in (law.alpha, law.exit))
    return PhaseType.from_rates(start, jumps, exits, atom=law.atom)._with_origin(origin_of(law, repair))


def equilibrium(law: PhaseType) -> PhaseType:
    """Return the law of what is left at a random moment of a renewal process: density sf(x) / mean.

    Parameters
    ----------
    law : PhaseType
        Law of the time between renewals, seconds.

    Returns
    -------
    PhaseType
        Of the same order and without an atom; its mean is ``law.moment(2) / (2 * law.mean)``.

    Raises
    ------
    ModelError
        If `law` is not a PhaseType.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, sec. 2.2.

    Examples
    --------
    >>> round(equilibrium(PhaseType.erlang(phases=2, mean=1.0)).mean, 12)
    0.75
    """
    _check_laws([law])
    chain = _reachable_chain(law)
    return _restarted(law, chain, solve_left(chain.factors, chain.start))


def scale(law: PhaseType, c: float) -> PhaseType:
    """Return the law of `c` times the variable; a change of the unit of time.

    Parameters
    ----------
    law : PhaseType
        Law of the variable, seconds.
    c : float
        Finite and above zero.

    Returns
    -------
    PhaseType
        Of the same order.

    Raises
    ------
    ModelError
        If `c` is not finite and above zero.

    Examples
    --------
    >>> scale(PhaseType.exponential(mean=2.0), 60.0)
    PhaseType(order=1, mean=120, scv=1)
    """
    _check_laws([law])
    return law.scale(c)


def _reachable_chain(law: PhaseType) -> Chain:
    return Chain.reachable(law.alpha, law.jumps, law.exit, law.atom)


def _restarted(law: PhaseType, chain: Chain, weights: Array) -> PhaseType:
    """`law` started in proportion to `weights` of the phases kept in `chain`."""
    alpha = np.zeros(law.order)
    alpha[chain.phases] = weights / weights.sum()
    restarted = PhaseType.from_rates(alpha, law.jumps, law.exit, atom=0.0)
    return restarted._with_origin(origin_of(law))


def _side_by_side(a: PhaseType, b: PhaseType) -> Array:
    """Rates of two chains that run at the same time and do not meet."""
    return np.kron(a.jumps, np.eye(b.order)) + np.kron(np.eye(a.order), b.jumps)


def _law_of_all(both: Callable[[PhaseType, PhaseType], PhaseType], laws: Sequence[PhaseType]) -> PhaseType:
    _check_laws(laws)
    return reduce(both, laws)._with_origin(origin_of(*laws))


def _check_laws(laws: Sequence[PhaseType]) -> Sequence[PhaseType]:
    if isinstance(laws, PhaseType) or not isinstance(laws, Sequence) or not laws:
        raise ModelError(f"give at least one PhaseType, in a sequence; got {laws!r:.80}")
    for law in laws:
        if not isinstance(law, PhaseType):
            raise ModelError(f"each law must be a PhaseType, got {law!r:.80}")
    return laws
