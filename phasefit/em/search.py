"""Laws of greatest likelihood by EM: mixtures of Erlang laws, Coxian and general ones."""

from __future__ import annotations

import copy
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import one_of, real_number, whole_number
from phasefit.em import erlang, general
from phasefit.em.result import EMResult
from phasefit.errors import ConvergenceError, InfeasibleMomentsError, ModelError
from phasefit.observations import Observations
from phasefit.sampling import RandomState, generator

__all__ = ["EMResult", "maximise"]

Family = Literal["hyper-erlang", "coxian", "general"]

#: Largest order of each family: 5,604 ways to share 30 phases among branches, 930 rates.
LARGEST: Final = {"hyper-erlang": 30, "coxian": 100, "general": 30}
_STARTS: Final = {"hyper-erlang": 2, "coxian": 4, "general": 3}


def maximise(
    observations: Observations | ArrayLike,
    *,
    family: Family = "hyper-erlang",
    order: int,
    starts: int | None = None,
    rng: RandomState = None,
    tol: float = 1e-8,
    max_steps: int = 1000,
    hold_moments: int = 0,
) -> tuple[EMResult, ...]:
    """Return the laws of greatest likelihood for the data, best first.

    Parameters
    ----------
    observations : Observations or (n,) array_like
        Times in seconds. Exact zeros become the atom of the law.
    family : {"hyper-erlang", "coxian", "general"}
        Mixtures of Erlang laws, with `order` phases shared among branches in every possible
        way; phases in a row that can each be the last; or any chain.
    order : int
        Number of phases: at most 30, for "coxian" 100.
    starts : int, optional
        Points to climb from, in every setting of a hyper-Erlang law; by default 2, 4 for a
        Coxian and 3 for a general law. The first few are placed by the data and the same on
        every call, the others at random.
    rng : numpy Generator, int, RandomState or None
        Where the random starts come from; None takes fresh entropy.
    tol : float
        A climb ends when a round of two or three steps gains at most this log-likelihood per
        sample.
    max_steps : int
        Steps after which a climb ends all the same, with ``converged=False``; at least 3.
    hold_moments : {0, 1, 2}
        Hold the first so many moments of the law exactly at those of the data.

    Returns
    -------
    tuple of EMResult
        The best settings or starts, best first; only the first is climbed to the end.

    Raises
    ------
    ModelError
        If an argument is out of range, or moments of censored data are to be held.
    InfeasibleMomentsError
        If no law of the family with the moments to hold was found.

    Notes
    -----
    More than 1000 values are first condensed into bins of 1 %, for Coxian and general laws of
    2 %; each bin keeps the mean of its times and of their logarithms. A single Erlang law is
    thereby fitted exactly. For a mixture the likelihood in bins is, by Jensen's inequality,
    never above the exact one, and EM climbs it as it does the exact one; see
    `Observations.binning_error`. The likelihood returned is that of all the data, for Coxian and
    general laws in bins of 0.02 % where there are more than 20,000.

    All settings of a hyper-Erlang law [1]_ are climbed in bins of 8 % first; the best by their
    likelihood in bins of 1 % are then climbed there. Settings behind after 100 steps
    are left out if 16 are ahead of them; that cost less than 1e-4 per sample wherever it was
    compared with climbing all. A general law is also climbed to from the best hyper-Erlang law of up to
    12 phases and the best Coxian one, and is never less likely than they are. Coxian and general laws take
    the E-step of [2]_ over increasing times by uniformisation [3]_. Steps are extrapolated [4]_
    and taken back where that lowers the likelihood.

    The mean of uncensored data is kept by EM itself. Holding two moments replaces the M-step by
    one along the surface of laws that have them, brought back to it by Newton's method and
    halved until the likelihood rises. Maximum likelihood alone often misses the second moment
    of data with a heavy tail.

    References
    ----------
    .. [1] A. Thümmler, P. Buchholz, M. Telek, "A novel approach for phase-type fitting with the
       EM algorithm", *IEEE Trans. Dependable Secure Comput.* 3 (2006) 245-258.
    .. [2] S. Asmussen, O. Nerman, M. Olsson, "Fitting phase-type distributions via the EM
       algorithm", *Scand. J. Stat.* 23 (1996) 419-441.
    .. [3] H. Okamura, T. Dohi, K. S. Trivedi, "A refined EM algorithm for PH distributions",
       *Perform. Eval.* 68 (2011) 938-954.
    .. [4] R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the
       convergence of any EM algorithm", *Scand. J. Stat.* 35 (2008) 335-353.

    Examples
    --------
    Three lamps burnt out and two were still burning when the watch ended:

    >>> lamps = Observations.of([2.0, 3.0, 5.0, 6.0, 6.0], censored=[False] * 3 + [True] * 2)
    >>> best, *_ = maximise(lamps, order=1)
    >>> best.label, round(best.distribution.mean, 6)
    ('hyper-Erlang (1)', 7.333333)
    """
    data = observations if isinstance(observations, Observations) else Observations.of(observations)
    one_of("family", family, LARGEST)
    order = whole_number("order", order, least=1)
    if order > LARGEST[family]:
        raise ModelError(f"order must be <= {LARGEST[family]} for {family}, got {order}")
    starts = _STARTS[family] if starts is None else whole_number("starts", starts, least=1)
    tol = real_number("tol", tol, least=0.0)
    max_steps = whole_number("max_steps", max_steps, least=3)
    hold = whole_number("hold_moments", hold_moments, least=0)
    if hold > 2:
        raise ModelError(f"hold_moments must be 0, 1 or 2, got {hold}; match three moments instead")
    if hold and not data.exact:
        raise ModelError(
            f"{data.lower.size} of the times are censored: the data have no moments to hold; use "
            f"hold_moments=0"
        )
    rng = generator("rng", rng)
    if family == "hyper-erlang":
        fits = erlang.fit(data, order, starts, rng, tol, max_steps, hold)
    else:
        also = _narrower(data, order, rng, tol, max_steps, hold) if family == "general" else ()
        fits = general.fit(data, family, order, starts, rng, tol, max_steps, hold, also)
    return tuple(fits)


def _narrower(
    data: Observations, order: int, rng: np.random.Generator, tol: float, max_steps: int, hold: int
) -> list[tuple[Array, Array, Array]]:
    """Return the best laws of the families that a general one contains, in the unit of the data."""
    found = []
    for family in ("hyper-erlang", "coxian") if order <= erlang.FEW_PHASES else ("coxian",):
        # A copy, so that each family starts where it does alone with the same seed, and the general one too.
        rest = (copy.deepcopy(rng), tol, max_steps, hold)
        try:
            if family == "hyper-erlang":
                best = erlang.fit(data, order, _STARTS[family], *rest)[0].distribution
            else:
                best = general.fit(data, "coxian", order, _STARTS[family], *rest)[0].distribution
        except (InfeasibleMomentsError, ConvergenceError):
            continue
        start = best.alpha / best.alpha.sum()
        found.append((start, best.jumps * data.unit, best.exit * data.unit))
    return found
