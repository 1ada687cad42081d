"""Phase-type laws: the time until a finite Markov chain is absorbed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import factorial, fsum, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit import absorption, forms, quantiles, sampling
from phasefit.absorption import Chain, scaled
from phasefit.arrays import Array, read_only
from phasefit.checks import (
    ROUNDING,
    at_times,
    exit_rate,
    finite_rates,
    in_range,
    moment_order,
    positive_vector,
    probabilities,
    probability_vector,
    real_array,
    real_number,
    real_vector,
    reciprocals,
    shaped,
    whole_number,
    within_order,
)
from phasefit.errors import ModelError
from phasefit.fitted_to import FromData
from phasefit.records import Law
from phasefit.sampling import RandomState


@dataclass(frozen=True, eq=False, repr=False)
class PhaseType(FromData, Law):
    """Law PH(alpha, T) of the time until a finite Markov chain is absorbed.

    Parameters
    ----------
    alpha : (n,) array_like
        Probability of starting in each phase. What is missing to one is the `atom`, the
        probability of the value zero; a sum within 1e-10 of one counts as one, and is made so.
    T : (n, n) array_like
        Sub-generator, rates per second: off-diagonal entries are non-negative, rows sum to at
        most zero, and from every phase the chain can be absorbed.

    Attributes
    ----------
    exit : (n,) ndarray
        Rate of absorption from each phase, per second: minus the row sums of T, correctly
        rounded. A row sum that rounding alone could explain counts as zero; give rates that
        small to `from_rates`.
    atom : float
        Probability of the value zero.

    Raises
    ------
    ModelError
        If (alpha, T) is not such a pair.

    Notes
    -----
    A law has many representations, so ``==`` compares identity only; compare laws by `moment`
    or `cdf`. Every method that takes times accepts any shape and returns that shape, a float
    for a number. Probabilities, densities and moments come from sums of non-negative terms
    only, so both tails keep relative accuracy, also with rates many decades apart.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins
       University Press 1981, ch. 2.

    Examples
    --------
    >>> burst = PhaseType.erlang(phases=3, mean=6.0)
    >>> burst
    PhaseType(order=3, mean=6, scv=0.333333)
    >>> round(burst.sf(12.0), 6)
    0.061969
    """

    _pickled = ("alpha", "T", "exit", "atom")

    alpha: Array
    T: Array
    exit: Array = field(init=False)
    atom: float = field(init=False)

    def __post_init__(self) -> None:
        alpha, T = real_vector("alpha", self.alpha), real_array("T", self.T)
        n = alpha.size
        if T.shape != (n, n):
            raise ModelError(f"alpha has {n} phases, so T must be ({n}, {n}), got {T.shape}")
        for i, row in enumerate(T):
            if not row[i] < 0.0:
                raise ModelError(f"T[{i}, {i}] must be < 0, got {row[i]:.6g}")
        exits = np.array([exit_rate(i, row) for i, row in enumerate(T)])
        jumps = T.copy()
        np.fill_diagonal(jumps, 0.0)
        self._settle(alpha, jumps, exits, None, T)

    def _settle(self, alpha: Array, jumps: Array, exits: Array, atom: float | None, T: Array) -> None:
        """Check what both constructors have in common and fill the fields."""
        if alpha.min() < 0.0:
            worst = int(alpha.argmin())
            raise ModelError(f"alpha[{worst}] must be >= 0, got {alpha[worst]:.6g}")
        total = fsum(alpha)
        if not 0.0 < total <= 1.0 + ROUNDING:
            raise ModelError(f"alpha must sum to more than 0 and at most 1, got {total:.12g}")
        if atom is None:
            atom = 0.0 if total >= 1.0 - ROUNDING else 1.0 - total
        if abs(total + atom - 1.0) > ROUNDING:
            raise ModelError(f"alpha sums to {total:.12g}; with atom {atom:.6g} that is not one")
        if jumps.min() < 0.0:
            i, j = np.unravel_index(jumps.argmin(), jumps.shape)
            raise ModelError(f"negative rate {jumps[i, j]:.6g} from phase {i} to phase {j}")
        ends = absorption.reached(jumps.T, exits > 0.0)
        if not ends.all():
            raise ModelError(
                f"phase {int(ends.argmin())} cannot reach absorption: T is not invertible; give "
                f"it, or a phase it leads to, an exit rate"
            )
        # The smaller of the two masses keeps its digits: 1 - atom has none below 1e-16. What is one but
        # for the last digit is kept, so that a law that is read back is the same.
        if atom < 0.5 and abs(total + atom - 1.0) > 4.0 * np.finfo(float).eps:
            alpha = alpha * ((1.0 - atom) / total)
        for name, array in (("alpha", alpha), ("T", T), ("exit", exits)):
            object.__setattr__(self, name, read_only(array))
        object.__setattr__(self, "atom", atom)

    def __repr__(self) -> str:
        atom = f", atom={self.atom:.6g}" if self.atom else ""
        return f"PhaseType(order={self.order}, mean={self.mean:.6g}, scv={self.scv:.6g}{atom})"

    def record(self) -> dict[str, Any]:
        """Return the law in seconds, with every digit of its rates; `from_json` reads it back."""
        return {
            "unit": "s",
            "alpha": self.alpha,
            "T": self.T,
            "exit": self.exit,
            "atom": self.atom,
            "mean": self.mean,
            "scv": self.scv,
            "moments": [self.moment(k) for k in (1, 2, 3)],
        }

    # Other tools

    def to(self, form: str) -> str:
        """Return the law as the text that another tool reads.

        Parameters
        ----------
        form : {"json", "butools", "line", "matlab", "jmt", "prism"}
            "json" is read back by `from_json`; "butools" is Python; "line" is Python of LINE 3;
            "matlab" is ``{D0, D1}`` of KPC-Toolbox and of LINE for MATLAB; "jmt" is the
            service-time strategy of a .jsimg file; "prism", which Storm reads too, is a module
            whose command `event` ends one time and begins the next.

        Raises
        ------
        ModelError
            For an unknown form, or where the law has an atom and the form cannot hold one: all
            but "json" and "butools".

        Examples
        --------
        >>> print(PhaseType.exponential(mean=0.5).to("line"), end="")
        from line_solver import PH
        <BLANKLINE>
        # mean 0.5 s, scv 1
        law = PH([1.0], [[-2.0]])
        """
        return forms.written(self, form)

    @classmethod
    def from_json(cls, text: str) -> PhaseType:
        """Read the law that `to_json` or ``to("json")`` wrote, with every digit of its rates.

        Parameters
        ----------
        text : str
            A JSON object with alpha and T; exit and atom are taken where given.

        Raises
        ------
        ModelError
            If it is no such object, or not a law.

        Examples
        --------
        >>> PhaseType.from_json('{"alpha": [1.0], "T": [[-0.25]]}').mean
        4.0
        """
        fields = forms.read_json(text)
        if "jumps" not in fields:
            return cls(fields["alpha"], fields["T"])
        law = cls.from_rates(fields["alpha"], fields["jumps"], fields["exit"], atom=fields.get("atom"))
        written = real_array("T", fields["T"])
        if np.allclose(written, law.T, rtol=1e-14, atol=0.0):  # the sums that it was made with
            written.flags.writeable = False
            object.__setattr__(law, "T", written)
        return law

    # Families

    @classmethod
    def from_rates(
        cls, alpha: ArrayLike, jumps: ArrayLike, exits: ArrayLike, *, atom: float | None = None
    ) -> PhaseType:
        """Return the law with these rates; the diagonal of T is derived, so that tiny rates keep digits.

        Parameters
        ----------
        alpha : (n,) array_like
            Probability of starting in each phase.
        jumps : (n, n) array_like
            Rates from phase to phase, per second; the diagonal must be zero.
        exits : (n,) array_like
            Rate of absorption from each phase, per second.
        atom : float, optional
            Probability of the value zero, where it is too small to be seen in the sum of alpha.

        Raises
        ------
        ModelError
            If a rate is negative or not finite, shapes differ, or absorption is out of reach.

        Examples
        --------
        >>> round(PhaseType.from_rates([1.0], [[0.0]], [0.25]).mean, 12)
        4.0
        """
        start, out = real_vector("alpha", alpha), real_vector("exits", exits)
        moves = real_array("jumps", jumps)
        n = start.size
        if moves.shape != (n, n) or out.shape != (n,):
            raise ModelError(
                f"alpha has {n} phases, so jumps must be ({n}, {n}) and exits ({n},), got "
                f"{moves.shape} and {out.shape}"
            )
        if moves.diagonal().any():
            i = int(np.flatnonzero(moves.diagonal())[0])
            raise ModelError(f"jumps[{i}, {i}] must be 0, got {moves[i, i]:.6g}; it is derived")
        # What is left of a difference of rates may fall below zero by their rounding; it is zero then.
        rounding = ROUNDING * np.maximum(moves.sum(axis=1), np.abs(out))
        out = np.where((out < 0.0) & (out >= -rounding), 0.0, out)
        if out.min() < 0.0:
            raise ModelError(f"negative exit rate {out.min():.6g} from phase {int(out.argmin())}")
        with np.errstate(over="ignore"):
            total = moves.sum(axis=1) + out
        if not np.isfinite(total).all():
            raise ModelError("the rates of a phase add up to infinity; use a longer unit of time")
        if atom is not None:
            atom = real_number("atom", atom, least=0.0)
        law = object.__new__(cls)
        law._settle(start, moves, out, atom, moves - np.diag(total))
        return law

    @classmethod
    def exponential(cls, *, mean: float) -> PhaseType:
        """Return an exponential law.

        Parameters
        ----------
        mean : float
            Seconds, above zero.

        Raises
        ------
        ModelError
            If `mean` is not above zero.
        """
        return cls.erlang(phases=1, mean=mean)

    @classmethod
    def erlang(cls, *, phases: int, mean: float) -> PhaseType:
        """Return the law of the sum of `phases` equal exponentials.

        Parameters
        ----------
        phases : int
            Number of exponentials.
        mean : float
            Mean of the sum, seconds.

        Raises
        ------
        ModelError
            If `phases` is not a whole number from 1 to 4000 or `mean` is not above zero.
        """
        mean = real_number("mean", mean, above=0.0)
        n = within_order("an Erlang law", whole_number("phases", phases, least=1))
        rate = finite_rates(np.full(n, n / mean))
        return cls.from_rates(np.eye(n)[0], np.diag(rate[1:], 1), np.where(np.eye(n)[-1], rate, 0))

    @classmethod
    def hyperexponential(cls, *, weights: ArrayLike, means: ArrayLike) -> PhaseType:
        """Return the law of one of several exponentials, chosen by chance.

        Parameters
        ----------
        weights : (k,) array_like
            Probability of each; they sum to one.
        means : (k,) array_like
            Mean of each, seconds.

        Raises
        ------
        ModelError
            If weights are negative or do not sum to one, or a mean is not above zero.
        """
        weight, mean = probability_vector("weights", weights), positive_vector("means", means)
        n = within_order("a hyperexponential law", mean.size)
        if weight.size != n:
            raise ModelError(f"{weight.size} weights do not go with {n} means")
        return cls.from_rates(weight, np.zeros((n, n)), reciprocals(mean), atom=0.0)

    @classmethod
    def coxian(cls, *, rates: ArrayLike, continue_probabilities: ArrayLike) -> PhaseType:
        """Return the law of phases in a row, each of which may be the last one.

        Parameters
        ----------
        rates : (n,) array_like
            Rate of each phase, per second.
        continue_probabilities : (n - 1,) array_like
            Probability that phase i is followed by phase i + 1.

        Raises
        ------
        ModelError
            If a rate is not above zero or a probability is outside [0, 1].
        """
        rate = positive_vector("rates", rates)
        onward = probabilities("continue_probabilities", continue_probabilities)
        n = within_order("a Coxian law", rate.size)
        if onward.shape != (n - 1,):
            raise ModelError(f"{n} rates need continue_probabilities of shape ({n - 1},), got {onward.shape}")
        onward = np.append(onward, 0.0)
        jumps = np.diag((rate * onward)[:-1], 1)
        return cls.from_rates(np.eye(n)[0], jumps, rate * (1.0 - onward))

    def scale(self, c: float) -> PhaseType:
        """Return the law of `c` times this variable.

        Parameters
        ----------
        c : float
            Finite and above zero.

        Raises
        ------
        ModelError
            If `c` is not.
        """
        c = real_number("c", c, above=0.0)
        with np.errstate(over="ignore"):
            exits, jumps = self.exit / c, self.jumps / c
        law = PhaseType.from_rates(self.alpha, finite_rates(jumps), finite_rates(exits), atom=self.atom)
        return law._with_origin(None if self.fitted_to is None else self.fitted_to.scaled(c))

    # Numbers

    @property
    def order(self) -> int:
        """Number of phases."""
        return self.alpha.size

    @property
    def jumps(self) -> Array:
        """Rates from phase to phase, per second: T with a zero diagonal, shape (n, n)."""
        jumps = self.T.copy()
        np.fill_diagonal(jumps, 0.0)
        return jumps

    @cached_property
    def _chain(self) -> Chain:
        return Chain.reachable(self.alpha, self.jumps, self.exit, self.atom)

    @cached_property
    def _mean(self) -> tuple[float, Array]:
        """The mean in the unit of the chain, and the mean time to the end from each phase."""
        chain = self._chain
        once = absorption.solve(chain.factors, np.ones(chain.start.size))
        return float(chain.start @ once), once

    @cached_property
    def _shape(self) -> tuple[float, float]:
        """E[X^2] / mean^2 and E[X^3] / mean^3; infinite where no float holds them."""
        chain = self._chain
        mean, once = self._mean
        with np.errstate(over="ignore", invalid="ignore"):
            twice = absorption.solve(chain.factors, once / mean)
            second = 2.0 * float(chain.start @ twice) / mean
            if not np.isfinite(second):
                return inf, inf
            thrice = absorption.solve(chain.factors, twice / mean)
            return second, 6.0 * float(chain.start @ thrice) / mean

    @property
    def mean(self) -> float:
        """E[X] in seconds; ModelError where the unit of time makes it too large for a float."""
        return in_range("the mean", self._mean[0], -self._chain.exponent)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, Var[X] / E[X]^2."""
        return self._shape[0] - 1.0

    @property
    def var(self) -> float:
        """Variance in seconds^2."""
        mean = self._mean[0]
        second = self._shape[0]
        if mean < 1e-150 or not np.isfinite(second):  # a variable that is nearly always zero
            return self.moment(2)
        spread = self.scv * mean * mean
        return in_range("the variance", spread, -2 * self._chain.exponent)

    @property
    def std(self) -> float:
        """Standard deviation in seconds."""
        return sqrt(self.scv) * self.mean if np.isfinite(self.scv) else sqrt(self.var)

    @property
    def skewness(self) -> float:
        """E[(X - mean)^3] / std^3."""
        second, third = self._shape
        return (third - 3.0 * second + 2.0) / (self.scv * sqrt(self.scv))

    def moment(self, k: int) -> float:
        """Return the raw moment E[X^k] = k! alpha (-T)^-k 1, in seconds^k.

        Parameters
        ----------
        k : int
            Order of the moment, 0 to 150.

        Raises
        ------
        ModelError
            If `k` is not a whole number >= 0, or the moment is out of the range of a float.
        """
        k = moment_order(k)
        chain, size, exponent = self._chain, float(factorial(k)), -k * self._chain.exponent
        vector = np.ones(chain.start.size)
        for _ in range(k):
            vector = absorption.solve(chain.factors, vector)
            shift = int(np.frexp(vector.max())[1])
            vector, exponent = np.ldexp(vector, -shift), exponent + shift
        share = float(chain.start @ vector) if k else 1.0
        return in_range(f"moment {k}", size * share, exponent)

    def moments(self, k: int) -> Array:
        """Return the first k raw moments, E[X] to E[X^k], in seconds to seconds^k.

        Parameters
        ----------
        k : int
            How many, 1 to 150.

        Returns
        -------
        (k,) ndarray
            As `moment` gives them one by one.

        Examples
        --------
        >>> PhaseType.exponential(mean=2.0).moments(3)
        array([ 2.,  8., 48.])
        """
        return np.array([self.moment(j) for j in range(1, whole_number("k", k, least=1) + 1)])

    # Functions of time

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at `x`, per second; the atom at zero has none.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If a time is NaN.
        """
        exits = np.ldexp(self._chain.exit, self._chain.exponent)
        return self._evaluate(x, 0.0, 0.0, lambda t, now, shift, _: scaled(now @ exits, shift))

    def logpdf(self, x: ArrayLike) -> Any:
        """Return the logarithm of `pdf`, also where that is too small for a float.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If an `x` is NaN, or so far out that even the logarithm cannot be had: beyond 1e-290,
            for orders in the hundreds.
        """
        unit = self._chain.exponent * np.log(2.0)
        return self._evaluate(
            x, -inf, -inf, lambda t, now, shift, _: self._chain.log_density(t, now, shift) + unit
        )

    def sf(self, x: ArrayLike) -> Any:
        """Return P(X > x), with relative accuracy in the tail.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If a time is NaN.
        """
        return self._evaluate(
            x, 1.0, 0.0, lambda t, now, shift, _: np.minimum(scaled(now.sum(axis=1), shift), 1.0)
        )

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X <= x), with relative accuracy near zero.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If a time is NaN.
        """
        return self._evaluate(x, 0.0, 1.0, lambda t, now, shift, absorbed: absorbed)

    def _evaluate(
        self,
        x: ArrayLike,
        before: float,
        at_last: float,
        value: Callable[[Array, Array, Array, Array], Array],
    ) -> Any:
        """`value` of the chain at finite times; `before` below zero, `at_last` at infinity."""

        def of_chain(times: Array) -> Array:
            with np.errstate(over="ignore"):
                t = np.minimum(np.ldexp(times, self._chain.exponent), 1e300)
            return value(t, *absorption.transient(self._chain, t))

        return at_times(x, before, at_last, of_chain)

    def ppf(self, q: ArrayLike) -> Any:
        """Return the time, seconds, not exceeded with probability `q`.

        Parameters
        ----------
        q : array_like
            Probabilities, any shape.

        Raises
        ------
        ModelError
            If one is not in [0, 1].
        """
        chance = probabilities("q", q)
        return self._quantile(chance > 0.5, np.where(chance > 0.5, 1.0 - chance, chance))

    def isf(self, q: ArrayLike) -> Any:
        """Return the time, seconds, exceeded with probability `q`.

        Parameters
        ----------
        q : array_like
            Probabilities, any shape; accurate down to 1e-300.

        Raises
        ------
        ModelError
            If one is not in [0, 1].
        """
        chance = probabilities("q", q)
        return self._quantile(chance <= 0.5, np.where(chance <= 0.5, chance, 1.0 - chance))

    def _quantile(self, upper: NDArray[np.bool_], chance: Array) -> Any:
        """Time exceeded with probability `chance` where `upper`, else reached by then."""
        positive = np.where(upper, chance < fsum(self.alpha), chance > self.atom)
        result = np.asarray(np.where(upper & (chance == 0.0), inf, 0.0))
        wanted = positive & (result == 0.0)
        if wanted.any():
            above = upper[wanted]
            after_zero = chance[wanted] - np.where(above, 0.0, self.atom)
            t = quantiles.quantile(self._chain, after_zero, above)
            result[wanted] = _in_seconds(t, self._chain)
        return shaped(result)

    def laplace(self, s: ArrayLike) -> Any:
        """Return the Laplace-Stieltjes transform E[exp(-s X)].

        Parameters
        ----------
        s : array_like
            Per second, not negative, any shape.

        Raises
        ------
        ModelError
            If an `s` is negative or not a finite number.
        """
        at = real_array("s", s, least=0.0)
        chain = self._chain
        with np.errstate(over="ignore"):
            speed = np.minimum(np.ldexp(at, -chain.exponent), 1e300)
        result = np.empty(at.shape)
        for index, rate in np.ndenumerate(speed):
            factors = absorption.eliminate(chain.jumps, chain.exit + rate)
            result[index] = self.atom + chain.start @ absorption.solve(factors, chain.exit)
        return shaped(result)

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: RandomState = None) -> Any:
        """Draw values (seconds), with the arguments of the laws of scipy.stats.

        Parameters
        ----------
        size : int or tuple of ints, optional
            Shape of the result; by default one float.
        random_state : None, int, numpy Generator or RandomState
            Where randomness comes from; None takes fresh entropy.

        Returns
        -------
        float or ndarray
            Values in seconds, in the shape `size`.

        Raises
        ------
        ModelError
            If an argument is none of these.
        """
        shape = sampling.dimensions(size)
        rng = sampling.generator("random_state", random_state)
        count = int(np.prod(shape, dtype=np.int64))
        t = sampling.draw(self._chain, count, rng).reshape(shape)
        return shaped(_in_seconds(t, self._chain))


def _in_seconds(times: Array, chain: Chain) -> Array:
    with np.errstate(over="ignore"):
        return np.ldexp(times, -chain.exponent)
