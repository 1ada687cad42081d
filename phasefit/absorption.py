"""Absorbing Markov chains by their rates: where the chain is, when it ends, how long it takes.

Nothing here subtracts what it must not: diagonals are derived from non-negative rates, so small
probabilities and slow rates keep their digits beside fast ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from phasefit.arrays import Array
from phasefit.errors import ModelError

#: Times at once in one table of Poisson weights.
_BLOCK = 4096
#: Terms of the Poisson series with mean 1/8, the short step that is squared.
_SHORT = 14
#: Phases up to which the matrices of doubled steps are kept for the next time that is asked for.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class Chain:
    """An absorbing chain reduced to what its start can reach, in units of its fastest phase.

    The unit of time is a power of two, so that changing to it is exact; the fastest phase is
    left at a rate in [1/2, 1).
    """

    phases: NDArray[np.intp]  #: indices of the phases kept, (n,)
    start: Array  #: (n,)
    jumps: Array  #: rates between phases, (n, n), zero diagonal
    exit: Array  #: rates of absorption, (n,)
    atom: float  #: probability of starting absorbed
    exponent: int  #: a time x of the caller is ``x * 2**exponent`` here

    @classmethod
    def reachable(cls, start: Array, jumps: Array, exit_rates: Array, atom: float) -> Chain:
        """Return a chain without the phases that the start never leads to, in its own unit of time.

        Parameters
        ----------
        start : (n,) ndarray
            Probability of starting in each phase.
        jumps : (n, n) ndarray
            Rates between phases, in the caller's unit, with a zero diagonal.
        exit_rates : (n,) ndarray
            Rates of absorption, in the caller's unit.
        atom : float
            Probability of starting absorbed.
        """
        kept = np.flatnonzero(reached(jumps, start > 0.0))
        inner, out = jumps[np.ix_(kept, kept)], exit_rates[kept]
        exponent = int(np.frexp((inner.sum(axis=1) + out).max())[1])
        return cls(kept, start[kept], np.ldexp(inner, -exponent), np.ldexp(out, -exponent), atom, exponent)

    @cached_property
    def rates(self) -> Array:
        """Total rate out of each phase."""
        return np.asarray(self.jumps.sum(axis=1) + self.exit)

    @cached_property
    def step(self) -> Array:
        """Transition matrix I + T of the uniformised chain at rate one, without its absorbing state."""
        return self.jumps + np.diag(1.0 - self.rates)

    @cached_property
    def factors(self) -> tuple[Array, Array, Array]:
        """Factors of -T."""
        return eliminate(self.jumps, self.exit)

    @cached_property
    def window(self) -> float:
        """Length of time that one Poisson series covers: a power of two, exp(-512) is a float."""
        return float(2 ** min(max(5, int(np.ceil(np.log2(self.start.size)))), 9))

    @cached_property
    def opening(self) -> tuple[Array, Array]:
        """Phase probabilities and absorbed mass after 0, 1, 2, ... steps from the start."""
        return self.powers(self.start, self.atom)

    @cached_property
    def _doubled(self) -> list[tuple[Array, Array, float]]:
        """Matrix, absorbed mass and scale of 1, 2, 4, ... short steps, as far as anybody asked."""
        return [(*self._short_step, 0.0)]

    @cached_property
    def _latest_window(self) -> list[tuple[float, float, Array, Array]]:
        """Number, scale and powers of the last window that was walked to, if any."""
        return []

    def powers(self, vector: Array, absorbed: float, scale: float = 0.0) -> tuple[Array, Array]:
        """Step the uniformised chain from `vector` until the Poisson window is covered.

        A phase d jumps away is first seen after d steps, and what comes later is at most Poisson around the
        window; the K steps leave room for both.

        Parameters
        ----------
        vector : (n,) ndarray
            Probability of each phase at step 0, to be multiplied by ``2**scale``.
        absorbed : float
            Mass absorbed before step 0.
        scale : float
            Power of two that the phases lack.

        Returns
        -------
        phases : (K, n) ndarray
            Probability of each phase after k steps, to be multiplied by ``2**scale``.
        mass : (K,) ndarray
            Absorbed mass after k steps, as it is.
        """
        n, mean = vector.size, self.window
        terms = n + int(mean + 9.0 * mean**0.5 + 40.0)
        sparse = n > 64 and np.count_nonzero(self.jumps) < n * n / 16
        backward = csr_array(self.step.T) if sparse else self.step.T
        phases, mass = np.empty((terms, n)), np.empty(terms)
        phases[0], mass[0] = vector, absorbed
        for k in range(1, terms):
            phases[k] = backward @ phases[k - 1]
        mass[1:] = absorbed + scaled(np.cumsum(phases[:-1] @ self.exit), scale)
        return phases, mass

    @cached_property
    def _jumps_to_absorption(self) -> int:
        """Least number of jumps before the last one."""
        seen, jumps = self.start > 0.0, 0
        while not self.exit[seen].any():
            seen |= self.jumps[seen].any(axis=0)
            jumps += 1
        return jumps

    def log_density(self, times: Array, phases: Array, shift: Array) -> Array:
        """Return the logarithm of the density of absorption at `times`.

        Parameters
        ----------
        times : (m,) ndarray
            In the unit of the chain.
        phases, shift : (m, n) and (m,) ndarray
            As `transient` returns them for these times.

        Raises
        ------
        ModelError
            If the density is too small for a law of this order to be followed to.
        """
        density = phases @ self.exit
        with np.errstate(divide="ignore"):
            result = np.log(density) + shift * np.log(2.0)
        # Beyond exp(-667), entries that differ by up to (e t/n)^n are squared before rescaling.
        n = self.start.size
        spread = n * np.log10(np.maximum(np.e * times / n, 1.0))
        lost = (result < -667.0) & (times >= self.window) & (spread > 150.0)
        faint = (density < 1e-290) & (times < self.window)
        if faint.any():  # many jumps away from the exit: sum the series without underflow
            powers, mass = self.opening
            leaving = powers @ self.exit
            lost |= faint & (leaving[self._jumps_to_absorption] < 1e-290)
            with np.errstate(divide="ignore"):
                terms = log_poisson(times[faint], mass.size) + np.log(leaving)
                largest = np.maximum(terms.max(axis=1), -1e300)
                result[faint] = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        if lost.any():
            x = float(np.ldexp(times[lost][0], -self.exponent))
            raise ModelError(
                f"the density at {x:.6g} is too small for a law of order {n} to be followed to; "
                f"ask nearer to the mean, or use a law of lower order"
            )
        return np.asarray(result)

    @cached_property
    def _short_step(self) -> tuple[Array, Array]:
        """exp(T / 8) and the mass absorbed from each phase during that time."""
        weights = poisson(np.array([0.125]), _SHORT)[0]
        matrix = np.diag(np.full(self.start.size, weights[-1]))
        for weight in weights[-2::-1]:
            matrix = self.step @ matrix
            matrix[np.diag_indices_from(matrix)] += weight
        leaving = self.exit
        absorbed, gone = np.zeros((2, self.start.size))
        for weight in weights[1:]:
            gone = gone + leaving
            absorbed += weight * gone
            leaving = self.step @ leaving
        return _with_row_sums(matrix, absorbed)


def reached(edges: Array, seeds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which vertices can be reached along positive edges.

    Parameters
    ----------
    edges : (n, n) ndarray
        Weight of the edge from row to column; above zero where there is one.
    seeds : (n,) ndarray of bool
        Vertices to start from; they count as reached.
    """
    seen = seeds.copy()
    stack = np.flatnonzero(seen).tolist()
    while stack:
        new = np.flatnonzero((edges[stack.pop()] > 0.0) & ~seen)
        seen[new] = True
        stack.extend(new.tolist())
    return seen


def poisson(mean: Array, terms: int) -> Array:
    """Return Poisson probabilities of 0, 1, ..., terms - 1, shape (m, terms).

    Parameters
    ----------
    mean : (m,) ndarray
        Means, not negative.
    terms : int
        Number of probabilities for each mean.
    """
    return np.asarray(np.exp(log_poisson(mean, terms)))


def log_poisson(mean: Array, terms: int) -> Array:
    """Return the logarithms of `poisson`, shape (m, terms).

    Parameters
    ----------
    mean : (m,) ndarray
        Means, not negative.
    terms : int
        Number of probabilities for each mean.
    """
    k = np.arange(1, terms)
    logs = np.zeros((mean.size, terms))
    with np.errstate(divide="ignore"):
        logs[:, 1:] = k * np.log(mean)[:, None] - gammaln(k + 1.0)
    return np.asarray(logs - mean[:, None])


def eliminate(jumps: Array, excess: Array) -> tuple[Array, Array, Array]:
    """Factor the M-matrix with off-diagonal part ``-jumps`` and row sums `excess`.

    Knowing the row sums instead of the diagonal makes Gaussian elimination free of subtractions and small
    solutions exact to the last digits (A. S. Alfa, J. Xue, Q. Ye, *Math. Comp.* 71 (2002) 217-236, after
    Grassmann, Taksar & Heyman 1985).

    Parameters
    ----------
    jumps : (n, n) ndarray
        Non-negative, with a zero diagonal.
    excess : (n,) ndarray
        Row sums of the matrix, not negative.

    Returns
    -------
    lower, upper : (n, n) ndarray
        Triangular factors with the sign turned and without the diagonal.
    pivots : (n,) ndarray
        Diagonal of the upper factor.
    """
    upper, excess = jumps.copy(), excess.copy()
    n = excess.size
    lower, pivots = np.zeros((n, n)), np.empty(n)
    for k in range(n):
        pivots[k] = excess[k] + upper[k, k + 1 :].sum()
        rows = k + 1 + np.flatnonzero(upper[k + 1 :, k])
        if rows.size:
            share = upper[rows, k] / pivots[k]
            lower[rows, k] = share
            upper[rows, k + 1 :] += share[:, None] * upper[k, k + 1 :]
            excess[rows] += share * excess[k]
    return lower, np.triu(upper, 1), pivots


def solve(factors: tuple[Array, Array, Array], right: Array) -> Array:
    """Solve M x = right, all non-negative.

    Parameters
    ----------
    factors : tuple of ndarray
        Of M, as `eliminate` returns them.
    right : (n,) ndarray
        Right-hand side.

    Returns
    -------
    x : (n,) ndarray
        The solution.
    """
    lower, upper, pivots = factors
    x = right.copy()
    for k in range(x.size):
        x[k + 1 :] += lower[k + 1 :, k] * x[k]
    for k in range(x.size - 1, -1, -1):
        x[k] = (x[k] + upper[k, k + 1 :] @ x[k + 1 :]) / pivots[k]
    return x


def solve_left(factors: tuple[Array, Array, Array], left: Array) -> Array:
    """Solve x M = left, all non-negative.

    Parameters
    ----------
    factors : tuple of ndarray
        Of M, as `eliminate` returns them.
    left : (n,) ndarray
        Left-hand side.

    Returns
    -------
    x : (n,) ndarray
        The solution.
    """
    lower, upper, pivots = factors
    x = left.copy()
    for k in range(x.size):
        x[k] /= pivots[k]
        x[k + 1 :] += upper[k, k + 1 :] * x[k]
    for k in range(x.size - 1, -1, -1):
        x[k] += lower[k + 1 :, k] @ x[k + 1 :]
    return x


def transient(chain: Chain, times: Array) -> tuple[Array, Array, Array]:
    """Return the phase probabilities and the absorbed mass of a chain at given times.

    Parameters
    ----------
    chain : Chain
        The chain, in its own unit of time.
    times : (m,) ndarray
        Finite and not negative, in the unit of the chain.

    Returns
    -------
    phases : (m, n) ndarray
        Probability of each phase, to be multiplied by ``2**shift``.
    shift : (m,) ndarray
        Whole numbers; zero unless the probabilities are too small for a float.
    absorbed : (m,) ndarray
        Probability of having been absorbed.

    Notes
    -----
    Uniformisation [1]_ in windows of time, as long as that is cheap; beyond, the matrix of a
    short step is squared. Both only add and multiply non-negative numbers. The rows of a squared
    matrix are brought back to their known sums, without which each squaring would double the
    error in the slow rates of a stiff chain.

    References
    ----------
    .. [1] A. Jensen, "Markoff chains as an aid in the study of Markoff processes",
       *Skand. Aktuarietidskr.* 36 (1953) 87-91.
    """
    phases = np.empty((times.size, chain.start.size))
    shift, absorbed = np.zeros(times.size), np.empty(times.size)
    n = chain.start.size
    windows = times / chain.window
    edges = np.count_nonzero(chain.jumps) + n
    affordable = max(1.0, min(40.0 * n**3 / (len(chain.opening[0]) * edges), 1e5 / chain.window))
    near = windows < affordable
    _by_windows(chain, times, np.flatnonzero(near), phases, shift, absorbed)
    far = np.flatnonzero(~near)
    for i in range(0, far.size, _BLOCK):
        rows = far[i : i + _BLOCK]
        phases[rows], shift[rows], absorbed[rows] = _by_squaring(chain, times[rows])
    return phases, shift, np.minimum(absorbed, 1.0)


def _by_windows(
    chain: Chain,
    times: Array,
    wanted: NDArray[np.intp],
    phases: Array,
    shift: Array,
    absorbed: Array,
) -> None:
    """Fill the `wanted` rows, window after window."""
    order = wanted[np.argsort(times[wanted], kind="stable")]
    window = np.floor(times[order] / chain.window)
    here, scale, powers, mass = 0.0, 0.0, *chain.opening
    for known in chain._latest_window:  # whoever seeks a quantile asks close by
        if order.size and known[0] <= window[0]:
            here, scale, powers, mass = known
    closing = poisson(np.array([chain.window]), mass.size)[0]
    while order.size:
        count = int(np.searchsorted(window, here, side="right"))
        for i in range(0, count, _BLOCK):
            rows = order[i : min(i + _BLOCK, count)]
            weights = poisson(times[rows] - here * chain.window, mass.size)
            phases[rows], absorbed[rows] = weights @ powers, weights @ mass
            shift[rows] = scale
        order, window = order[count:], window[count:]
        if order.size:
            last, small = _rescaled(closing @ powers)
            scale += float(small)
            powers, mass = chain.powers(last, float(closing @ mass), scale)
            here += 1.0
    if here:
        chain._latest_window[:] = [(here, scale, powers, mass)]


def _by_squaring(chain: Chain, times: Array) -> tuple[Array, Array, Array]:
    """Write each time in binary and use the matrices of 1, 2, 4, ... short steps."""
    left = np.floor(8.0 * times)
    first, mass = (part[:_SHORT] for part in chain.opening)
    weights = poisson(times - left / 8.0, _SHORT)
    phases, absorbed = weights @ first, weights @ mass
    shift = np.zeros(times.size)
    for matrix, gone, scale in _doubled_steps(chain):
        odd = np.flatnonzero(left % 2.0 == 1.0)
        if odd.size:
            before = phases[odd]
            absorbed[odd] += scaled(before @ gone, shift[odd])
            phases[odd], small = _rescaled(before @ matrix)
            shift[odd] += scale + small
        left = np.floor(left / 2.0)
        if not left.any():
            break
    return phases, shift, absorbed


def _doubled_steps(chain: Chain) -> Iterator[tuple[Array, Array, float]]:
    """Give the matrix of 1, 2, 4, ... short steps, to be multiplied by 2**scale, and what they absorb."""
    known, number = chain._doubled, 0
    while number < len(known):
        matrix, gone, scale = known[number]
        number += 1
        yield matrix, gone, scale
    while True:
        gone = gone + scaled(matrix @ gone, scale)
        matrix = matrix @ matrix
        scale *= 2.0
        if scale == 0.0:
            matrix, gone = _with_row_sums(matrix, gone)
        flat, small = _rescaled(matrix.ravel())
        matrix = flat.reshape(matrix.shape)
        scale += float(small)
        if len(matrix) <= _KEPT and number < 2 * _KEPT:  # at its place, whoever else is doubling
            known[number : number + 1] = [(matrix, gone, scale)]
        number += 1
        yield matrix, gone, scale


def _with_row_sums(matrix: Array, absorbed: Array) -> tuple[Array, Array]:
    """Make rows sum to what is not absorbed, trusting the smaller of the two."""
    alive = matrix.sum(axis=1)
    early = absorbed < 0.5
    factor = np.where(early, (1.0 - absorbed) / np.where(early, alive, 1.0), 1.0)
    return matrix * factor[:, None], np.where(early, absorbed, 1.0 - alive)


def _rescaled(rows: Array) -> tuple[Array, Array]:
    """Rows that are not too small, and the powers of two to multiply them by."""
    small = np.frexp(rows.max(axis=-1, keepdims=True))[1]
    small = np.where((small < -20) | (small > 1), small, 0)
    return np.ldexp(rows, -small), np.asarray(small[..., 0], dtype=float)


def scaled(value: Array, shift: Array | float) -> Array:
    """Return ``value * 2**shift``; zero where that is too small for a float.

    Parameters
    ----------
    value : ndarray
        Any shape.
    shift : ndarray or float
        Whole numbers, at most zero, in a shape that goes with `value`.
    """
    return np.asarray(np.ldexp(value, np.clip(shift, -5000.0, 0.0).astype(np.int64)))
