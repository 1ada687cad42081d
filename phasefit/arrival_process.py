"""Markovian arrival processes: streams of events whose gaps may depend on those before."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit import absorption, forms, sampling
from phasefit.arrays import Array, read_only
from phasefit.checks import (
    ROUNDING,
    finite_rates,
    instance_of,
    positive_vector,
    real_array,
    real_number,
    shaped,
    share,
    whole_number,
    within_order,
)
from phasefit.errors import ModelError
from phasefit.fitted_to import FromData, origin_of
from phasefit.phase_type import PhaseType
from phasefit.records import Drawing, Result
from phasefit.sampling import RandomState

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class MAP(FromData, Result):
    """Markovian arrival process MAP(D0, D1): events at some of the jumps of a Markov chain.

    Parameters
    ----------
    D0 : (n, n) array_like
        Rates of the jumps without an event, per second; off-diagonal entries are non-negative.
        The diagonal makes the rows of D0 + D1 sum to zero, to within 1e-10 of itself; it is
        derived anew from the other rates.
    D1 : (n, n) array_like
        Rates of the jumps with an event, per second; non-negative, the diagonal included.

    Attributes
    ----------
    jumps : (n, n) ndarray
        D0 with a zero diagonal.

    Raises
    ------
    ModelError
        If (D0, D1) is not such a pair, some phase can never see another event, or the chain has
        two parts that it cannot leave, so that the long run depends on the start.

    Notes
    -----
    Times between events are called gaps. What is said of them holds in the long run, seen from
    an event; counts are seen from a random moment. A renewal process of a phase-type law has
    ``D1 = exit alpha``, a Poisson process order 1. Two processes are equal, ``==``, if their
    matrices are; other matrices may describe the same process.

    References
    ----------
    .. [1] D. M. Lucantoni, K. S. Meier-Hellstern, M. F. Neuts, "A single-server queue with server
       vacations and a class of non-renewal arrival processes", *Adv. Appl. Probab.* 22 (1990)
       676-705.

    Examples
    --------
    Jobs come at 1.8 per second for a while, then for as long at .2 per second:

    >>> tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[1.8, 0.2])
    >>> tides
    MAP(order=2, mean=1, scv=3.28571, lag1=0.223602)
    >>> round(tides.dispersion(1.0), 4), round(tides.dispersion(1e6), 4)
    (1.5994, 7.4)
    """

    drawing = Drawing("lag", "autocorrelation")
    _pickled = ("D0", "D1", "jumps")

    D0: Array
    D1: Array
    jumps: Array = field(init=False)

    def __post_init__(self) -> None:
        D0, D1 = _square_matrix("D0", self.D0), _square_matrix("D1", self.D1)
        if D1.shape != D0.shape:
            raise ModelError(f"D0 and D1 must have one shape, got {D0.shape} and {D1.shape}")
        for i, row in enumerate(np.hstack([D0, D1])):
            off = fsum(row)
            if abs(off) > ROUNDING * abs(row[i]):
                raise ModelError(
                    f"row {i} of D0 + D1 must sum to 0, got {off:.6g}; set D0[{i}, {i}] to minus "
                    f"the other rates, or use MAP.from_rates"
                )
        np.fill_diagonal(D0, 0.0)
        self._settle(D0, D1)

    def _settle(self, jumps: Array, D1: Array) -> None:
        """Check what both constructors have in common and fill the fields."""
        for name, rates in (("D0", jumps), ("D1", D1)):
            if rates.min() < 0.0:
                i, j = np.unravel_index(rates.argmin(), rates.shape)
                raise ModelError(f"{name}[{i}, {j}] must be >= 0, got {rates[i, j]:.6g}")
        ends = absorption.reached(jumps.T, D1.sum(axis=1) > 0.0)
        if not ends.all():
            raise ModelError(
                f"phase {int(ends.argmin())} can never see an event again; give it, or a phase it "
                f"leads to, a rate in D1"
            )
        with np.errstate(over="ignore"):
            total = finite_rates(jumps.sum(axis=1) + D1.sum(axis=1))
        _recurrent_phases(jumps + D1)
        for name, array in (("D0", jumps - np.diag(total)), ("D1", D1), ("jumps", jumps)):
            object.__setattr__(self, name, read_only(array))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MAP):
            return NotImplemented
        return np.array_equal(self.D0, other.D0) and np.array_equal(self.D1, other.D1)

    def __hash__(self) -> int:
        return hash((self.D0.tobytes(), self.D1.tobytes()))

    def __repr__(self) -> str:
        lag1 = round(self.autocorrelation(1), 12) + 0.0  # no sign of a rounded zero
        return f"MAP(order={self.order}, mean={self.mean:.6g}, scv={self.scv:.6g}, lag1={lag1:.6g})"

    def record(self) -> dict[str, Any]:
        """Return the process in seconds, with every digit of its rates."""
        return {"unit": "s", "D0": self.D0, "D1": self.D1, "mean": self.mean, "scv": self.scv}

    def drawn(self) -> pd.DataFrame:
        """Return the autocorrelation of gaps by lag, as `plot` draws it."""
        import pandas as pd

        lags = np.arange(1, 21)
        return pd.DataFrame({"lag": lags, "autocorrelation": self.autocorrelation(lags)})

    def to(self, form: str) -> str:
        """Return the process as the text that another tool reads.

        Parameters
        ----------
        form : {"json", "line", "matlab", "jmt", "prism"}
            As for `PhaseType.to`; "json" holds D0 and D1.

        Raises
        ------
        ModelError
            For an unknown form.

        Examples
        --------
        >>> print(MAP([[-2.0]], [[2.0]]).to("matlab"), end="")
        % mean 0.5 s, scv 1
        law = {[-2.0], [2.0]};
        """
        return forms.written_process(self, form)

    # Families

    @classmethod
    def from_rates(cls, jumps: ArrayLike, events: ArrayLike) -> MAP:
        """Return the process with these rates; the diagonal of D0 is derived.

        Parameters
        ----------
        jumps : (n, n) array_like
            Rates of the jumps without an event, per second; the diagonal must be zero.
        events : (n, n) array_like
            Rates of the jumps with an event, per second.

        Raises
        ------
        ModelError
            As for `MAP`.
        """
        moves, seen = _square_matrix("jumps", jumps), _square_matrix("events", events)
        if moves.shape != seen.shape:
            raise ModelError(f"jumps and events must have one shape: {moves.shape}, {seen.shape}")
        if moves.diagonal().any():
            i = int(np.flatnonzero(moves.diagonal())[0])
            raise ModelError(f"jumps[{i}, {i}] must be 0, got {moves[i, i]:.6g}; it is derived")
        process = object.__new__(cls)
        process._settle(moves, seen)
        return process

    @classmethod
    def poisson(cls, *, rate: float) -> MAP:
        """Return a Poisson process.

        Parameters
        ----------
        rate : float
            Events per second, above zero.
        """
        return cls.from_rates([[0.0]], [[real_number("rate", rate, above=0.0)]])

    @classmethod
    def from_phase_type(cls, law: PhaseType) -> MAP:
        """Return the renewal process whose gaps have this law.

        Parameters
        ----------
        law : PhaseType
            Law of a gap, seconds, without an atom at zero.

        Raises
        ------
        ModelError
            If `law` is not a PhaseType or has an atom at zero.

        Examples
        --------
        >>> MAP.from_phase_type(PhaseType.erlang(phases=2, mean=4.0))
        MAP(order=2, mean=4, scv=0.5, lag1=0)
        """
        instance_of("law", law, PhaseType)
        if law.atom > 0.0:
            raise ModelError(
                f"the law has an atom of {law.atom:.3g} at zero, and a MAP has no events at the "
                f"same time; take the law of the positive values"
            )
        return cls.from_rates(law.jumps, np.outer(law.exit, law.alpha))._with_origin(law.fitted_to)

    @classmethod
    def modulated(cls, generator: ArrayLike, *, rates: ArrayLike) -> MAP:
        """Return a Poisson process whose rate follows a Markov chain (MMPP).

        Parameters
        ----------
        generator : (n, n) array_like
            Rates of the chain, per second; the diagonal is not read.
        rates : (n,) array_like
            Events per second in each state, not negative.

        Raises
        ------
        ModelError
            If the number of rates is not that of the states, or as for `MAP`.
        """
        chain = _square_matrix("generator", generator)
        np.fill_diagonal(chain, 0.0)
        events = real_array("rates", rates)
        if events.shape != (len(chain),):
            raise ModelError(f"{len(chain)} states need as many rates, got {events.shape}")
        return cls.from_rates(chain, np.diag(events))

    @classmethod
    def acyclic(cls, *, rates: ArrayLike, a: float, b: float, alternating: bool = False) -> MAP:
        """Return a canonical process of order 2; every process of two phases has one of two such forms.

        Parameters
        ----------
        rates : (2,) array_like
            Rates of phases 1 and 2, per second, not falling.
        a, b : float
            Probability that phase 1 ends with an event, and that phase 2 is followed by itself;
            if `alternating`, that phase 2 is followed by phase 1.
        alternating : bool
            After an event in phase 1 comes phase 1, or, if true, phase 2. Gaps far apart by k
            are correlated in proportion to ``(a b)**k``, or to ``(-a b)**k``.

        Raises
        ------
        ModelError
            If `rates` are not two numbers that do not fall, or `a` or `b` is no probability.

        References
        ----------
        .. [1] L. Bodrog, A. Heindl, G. Horvath, M. Telek, "A Markovian canonical form of
           second-order matrix-exponential processes", *Eur. J. Oper. Res.* 190 (2008) 459-477.
        """
        first, second = positive_vector("rates", rates) if np.size(rates) == 2 else (0.0, 0.0)
        if not 0.0 < first <= second:
            raise ModelError(f"rates must be two numbers that do not fall, got {rates!r:.60}")
        a, b = share("a", a), share("b", b)
        jumps = np.array([[0.0, (1.0 - a) * first], [0.0, 0.0]])
        if alternating:
            return cls.from_rates(jumps, [[0.0, a * first], [b * second, (1.0 - b) * second]])
        return cls.from_rates(jumps, [[a * first, 0.0], [(1.0 - b) * second, b * second]])

    # Processes made of processes

    def scale(self, c: float) -> MAP:
        """Return the process with all gaps `c` times as long.

        Parameters
        ----------
        c : float
            Above zero.
        """
        c = real_number("c", c, above=0.0)
        with np.errstate(over="ignore"):
            process = MAP.from_rates(finite_rates(self.jumps / c), finite_rates(self.D1 / c))
        return process._with_origin(None if self.fitted_to is None else self.fitted_to.scaled(c))

    def at_rate(self, rate: float) -> MAP:
        """Return the same process in another unit of time, with `rate` events per second.

        Parameters
        ----------
        rate : float
            Events per second, above zero.
        """
        return self.scale(self.rate / real_number("rate", rate, above=0.0))

    def thin(self, p: float) -> MAP:
        """Return the process of those events that are kept, each independently of the others.

        Parameters
        ----------
        p : float
            Probability that an event is kept, in (0, 1].
        """
        p = share("p", p, zero=False)
        lost = (1.0 - p) * self.D1
        np.fill_diagonal(lost, 0.0)  # an event that is lost and leads nowhere is no jump
        return MAP.from_rates(self.jumps + lost, p * self.D1)._with_origin(origin_of(self))

    def superpose(self, *others: MAP) -> MAP:
        """Return the events of this and of other independent processes as one stream.

        Its order is the product of the orders.

        Parameters
        ----------
        *others : MAP
            Processes independent of this one and of each other.

        Raises
        ------
        ModelError
            If one of them is no MAP, or the order would exceed 4000.
        """
        joined = self
        for other in others:
            if not isinstance(other, MAP):
                raise ModelError(f"a MAP can be joined by MAPs, got {other!r:.60}")
            within_order("the superposition", joined.order * other.order)
            one, two = np.eye(joined.order), np.eye(other.order)
            joined = MAP.from_rates(
                np.kron(joined.jumps, two) + np.kron(one, other.jumps),
                np.kron(joined.D1, two) + np.kron(one, other.D1),
            )
        return joined._with_origin(origin_of(self, *others)) if others else self

    # Numbers

    @property
    def order(self) -> int:
        """Number of phases."""
        return len(self.D0)

    @cached_property
    def phases(self) -> Array:
        """Probability of each phase at a random moment, (n,)."""
        return _long_run_probabilities(self.jumps + self.D1)

    @cached_property
    def after_event(self) -> Array:
        """Probability of each phase just after an event, (n,)."""
        flow: Array = self.phases @ self.D1
        return np.asarray(flow / flow.sum())

    @property
    def rate(self) -> float:
        """Events per second."""
        return float((self.phases @ self.D1).sum())

    @cached_property
    def gaps(self) -> PhaseType:
        """Law of the time from an event to the next, seconds; what a renewal model would keep."""
        law = PhaseType.from_rates(self.after_event, self.jumps, self.D1.sum(axis=1), atom=0.0)
        return law._with_origin(self.fitted_to)

    @property
    def mean(self) -> float:
        """Mean gap in seconds."""
        return self.gaps.mean

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of a gap."""
        return self.gaps.scv

    def moment(self, k: int) -> float:
        """Return the raw moment E[X^k] of a gap, in seconds^k; see `PhaseType.moment`.

        Parameters
        ----------
        k : int
            Order of the moment, not negative.
        """
        return self.gaps.moment(k)

    def autocorrelation(self, lag: ArrayLike) -> Any:
        """Return the correlation of a gap with the one `lag` events later.

        Parameters
        ----------
        lag : array_like of int
            At least 1, of any shape.

        Raises
        ------
        ModelError
            If a lag is not a whole number above 0, or gaps do not vary.
        """
        lags = np.asarray(lag)
        for each in lags.ravel().tolist():
            whole_number("lag", each, least=1)
        factors = absorption.eliminate(self.jumps, self.D1.sum(axis=1))
        # from phase to phase at events, and the mean of the next gap from each of them
        follow = np.array([absorption.solve(factors, column) for column in self.D1.T]).T
        ahead = absorption.solve(factors, np.ones(self.order))
        # centred before it is multiplied: a small correlation is no small difference
        ahead = ahead - self.after_event @ ahead
        weight = absorption.solve_left(factors, self.after_event)
        covariances = np.array(
            [weight @ np.linalg.matrix_power(follow, k) @ ahead for k in lags.ravel().tolist()]
        )
        return shaped(covariances.reshape(lags.shape) / self.gaps.var)

    def dispersion(self, window: ArrayLike) -> Any:
        """Return the index of dispersion for counts: their variance over their mean in a window of time.

        Parameters
        ----------
        window : array_like
            Seconds, not negative, of any shape; infinity for the limit. Windows begin at random
            moments. A Poisson process has 1 everywhere; a renewal process starts at 1 and tends
            to the scv of its gaps.

        Raises
        ------
        ModelError
            If a window is negative or no number.
        """
        times = real_array("window", window, infinite=True, least=0.0)
        dispersions = np.array([self._dispersion_at(t) for t in times.ravel().tolist()])
        return shaped(dispersions.reshape(times.shape))

    def _dispersion_at(self, t: float) -> float:
        """1 + 2 / rate times the integral of (1 - u/t) cov(u), cov that of the rates of events."""
        from scipy.linalg import expm

        Q, seen = self.D0 + self.D1, self.D1.sum(axis=1)
        rate = self.rate
        excess, flow = seen - rate, self.phases @ self.D1  # excess: of mean zero, so it decays
        fastest = float(np.abs(Q).max())
        jumps = t * fastest if t < inf else inf
        if jumps <= 1.0:  # by an exponential: what is below cancels
            n = self.order
            whole = np.zeros((n + 2, n + 2))
            whole[:n, :n], whole[:n, n], whole[n, n + 1] = t * Q, excess, 1.0
            return 1.0 + 2.0 * t / rate * float(flow @ expm(whole)[:n, n + 1])
        once = self._integral_over_time(excess)
        if jumps == inf:
            return 1.0 + 2.0 / rate * float(flow @ once)
        # on values of mean zero it acts as Q does, and has no eigenvalue 0, which would let the
        # rounding of very many squarings grow
        decaying = Q / fastest - self.phases
        twice = self._integral_over_time(once - expm(min(jumps, 1e30) * decaying) @ once)
        return 1.0 + 2.0 / rate * float(flow @ (once - twice / t))

    def _integral_over_time(self, values: Array) -> Array:
        """Integral of the mean over time of values with long-run mean zero, from each phase."""
        rates, at = self.jumps + self.D1, int(self.phases.argmax())
        rest = np.flatnonzero(np.arange(self.order) != at)
        # until the chain is at one phase; positive and negative parts apart, so nothing cancels
        factors = absorption.eliminate(rates[np.ix_(rest, rest)], rates[rest, at])
        sums = np.zeros(self.order)
        up, down = np.maximum(values[rest], 0.0), np.maximum(-values[rest], 0.0)
        sums[rest] = absorption.solve(factors, up) - absorption.solve(factors, down)
        return np.asarray(sums - self.phases @ sums)

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: RandomState = None) -> Any:
        """Draw successive gaps (seconds), the first one after an event of the long run.

        Parameters
        ----------
        size : int or tuple of ints, optional
            Shape of the result, filled in order of time; by default one float.
        random_state : None, int, numpy Generator or RandomState
            Where randomness comes from; None takes fresh entropy. A longer stream from the same
            seed begins with the shorter one.

        Returns
        -------
        float or ndarray
            Gaps in seconds, in the shape `size`.

        Raises
        ------
        ModelError
            If an argument is none of these.
        """
        shape = sampling.dimensions(size)
        rng = sampling.generator("random_state", random_state)
        count = int(np.prod(shape, dtype=np.int64))
        drawn = sampling.draw_events(self.jumps, [self.D1], self.after_event, count, rng)[0]
        return shaped(drawn.reshape(shape))


def _square_matrix(name: str, value: ArrayLike) -> Array:
    """`value` as a fresh square matrix of finite floats."""
    array = real_array(name, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ModelError(f"{name} must be a square matrix, got shape {array.shape}")
    return array


def _recurrent_phases(rates: Array) -> NDArray[np.intp]:
    """Phases that the chain returns to for ever; ModelError where there are two such parts."""
    least = 0
    while True:
        kept = absorption.reached(rates, np.arange(len(rates)) == least)
        home = absorption.reached(rates.T, np.arange(len(rates)) == least)
        away = np.flatnonzero(kept & ~home)
        if not away.size:
            break
        least = int(away[0])  # from there the chain never comes back: its part is smaller
    leads = absorption.reached(rates.T, kept)
    if not leads.all():
        other = int(leads.argmin())
        raise ModelError(
            f"phases {least} and {other} lie in parts of the chain that never meet; a long run "
            f"needs one part, so give them as two processes"
        )
    return np.flatnonzero(kept)


def _long_run_probabilities(rates: Array) -> Array:
    """Long-run probabilities of a chain with these rates, zero where it is left for good."""
    kept = _recurrent_phases(rates)
    inner = rates[np.ix_(kept, kept)].copy()
    np.fill_diagonal(inner, 0.0)
    # time in the others between two visits to the first one, over the mean time of a visit
    factors = absorption.eliminate(inner[1:, 1:], inner[1:, 0])
    relative = np.concatenate([[1.0], absorption.solve_left(factors, inner[0, 1:])])
    result = np.zeros(len(rates))
    result[kept] = relative / fsum(relative)
    return result
