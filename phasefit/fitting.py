"""From samples to a law with a report: which family, which order, how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit import sampling
from phasefit.checks import named, real_array, real_number, whole_number
from phasefit.diagnostics import Candidate, FitReport, log_likelihood
from phasefit.em import LARGEST, EMResult, Family, maximise
from phasefit.em.cost import estimated_seconds, largest_within, orders_within
from phasefit.empirical import dependence, empirical, ks_distance
from phasefit.errors import InfeasibleMomentsError, ModelError
from phasefit.fitted_to import FittedTo
from phasefit.moments import match_moments
from phasefit.observations import Observations
from phasefit.phase_type import PhaseType
from phasefit.sampling import RandomState

#: Families that `fit` knows.
FAMILIES: Final = ("hyper-erlang", "coxian", "general", "moments")
#: What may choose among the candidates.
CRITERIA: Final = ("bic", "aic", "cv")

_FOLDS = 5
#: Orders that are tried where nothing is said.
_MOST_TRIED: Final = 8


def fit(
    samples: ArrayLike | Observations,
    *,
    order: int | None = None,
    family: str = "hyper-erlang",
    weights: ArrayLike | None = None,
    censored: Any = None,
    criterion: str = "bic",
    hold_moments: int = 0,
    max_order: int | None = None,
    bootstrap: int = 0,
    rng: RandomState = None,
    seconds: float | None = None,
) -> FitReport:
    """Fit a phase-type law to samples and report how well it fits.

    Parameters
    ----------
    samples : (n,) array_like or Observations
        Times, seconds, not negative; in the order of time if their dependence is to be judged.
    order : int, optional
        Number of phases. By default orders 1 to `max_order` are tried and `criterion` chooses.
    family : {"hyper-erlang", "coxian", "general", "moments"}
        "moments" matches the first two moments by `match_moments`, which finds its own order.
    weights : (n,) array_like, optional
        How often each sample counts.
    censored : optional
        Which samples are known only to lie beyond, below or between times; see `Observations.of`.
    criterion : {"bic", "aic", "cv"}
        Schwarz's or Akaike's criterion, or 5-fold cross-validation of the likelihood.
    hold_moments : {0, 1, 2}
        The first moments of the data that the law must meet; the likelihood chooses the rest.
    max_order : int, optional
        Largest order tried where `order` is not given; by default 8, or as many as `seconds` allow.
    bootstrap : int
        Number of resamplings for `FitReport.bands` and `FitReport.ks_pvalue`; 200 will do.
    rng : numpy Generator, int, RandomState or None
        For starts, folds and resampling. The same seed gives the same report.
    seconds : float, optional
        Seconds of computing that may be begun, by an estimate good to a factor of two; any number
        by default.

    Returns
    -------
    FitReport
        The law and what speaks for and against it.

    Raises
    ------
    ModelError
        If an argument is out of its range, too little was observed, or the fit would take longer
        than `seconds`; it names the order that would do.
    InfeasibleMomentsError
        If no law tried has the moments to be held.

    Notes
    -----
    Zeros are kept as an atom of the law, phases are fitted to what is above zero. The
    settings that `maximise` climbed to the end are candidates, several of each order, so that few
    parameters may win at a high order; with `order` given, the likelihood alone chooses.

    With `bootstrap` = B there are two times B refits at the chosen family and order: B of
    resampled data for the bands [2]_, B of samples of the fitted law for the p-value, since a
    fitted law lies closer to its data than the tables of Kolmogorov and Smirnov allow for [1]_.
    A refit costs as much as one `fit` with `order` given. There is no p-value for censored data.
    Data rounded to whole seconds fail the test by their steps alone once n is large.

    References
    ----------
    .. [1] W. Stute, W. González Manteiga, M. Presedo Quindimil, "Bootstrap based goodness-of-fit
       tests", *Metrika* 40 (1993) 243-256.
    .. [2] B. Efron, R. J. Tibshirani, *An Introduction to the Bootstrap*, Chapman & Hall 1993.

    Examples
    --------
    >>> waits = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[1.0, 30.0])
    >>> report = fit(waits.rvs(3000, random_state=7), order=2, hold_moments=2, rng=7)
    >>> report.label
    'hyper-Erlang (1, 1)'
    >>> [abs(error) < 1e-9 for error in report.moment_errors[:2]]
    [True, True]
    """
    family, criterion = named("family", family, FAMILIES), named("criterion", criterion, CRITERIA)
    rng = sampling.generator("rng", rng)
    replicas = whole_number("bootstrap", bootstrap, least=0)
    held = whole_number("hold_moments", hold_moments, least=0)
    if held > 2:
        raise ModelError(f"hold_moments must be 0, 1 or 2, got {held}")
    orders = _orders_to_try(order, max_order, family)
    observations, remarks = _observations_and_remarks(samples, weights, censored)
    if seconds is not None and family != "moments":
        folds = _FOLDS if criterion == "cv" and order is None else 0
        limit = real_number("seconds", seconds, above=0.0)
        wanted = orders[-1]
        orders = _orders_in_time(
            orders,
            observations,
            family,
            held,
            (folds, replicas),
            limit,
            fixed=order is not None or max_order is not None,
        )
        if orders[-1] < wanted:
            remarks += (
                f"orders up to {orders[-1]} were tried: higher ones would take more than the "
                f"{limit:g} s of computing allowed.",
            )
    search = _Search(family, held, int(rng.integers(2**31)))

    tried = search.over(observations, orders)
    scores: dict[int, float] = {}
    if criterion == "cv" and len(orders) > 1:
        tried = list({result.distribution.order: result for result in reversed(tried)}.values())
        scores = _cross_validated(search, observations, tried, rng)
    pairs = [(_candidate(result, observations.size, scores), result) for result in tried]
    chosen_by = criterion if len(orders) > 1 else "likelihood"
    pairs.sort(key=lambda pair: _criterion_value(pair[0], chosen_by))
    best = pairs[0][1]
    data = empirical(observations)
    laws: tuple[PhaseType, ...] = ()
    pvalue = None
    if replicas:
        laws = _laws_refitted(search, observations, best.distribution, replicas, rng)
        if len(laws) < replicas:
            remarks += (
                f"{replicas - len(laws)} of {replicas} replicas have moments that no law of this "
                f"order can hold, and are left out.",
            )
        if data is not None and observations.exact:
            far = ks_distance(best.distribution, data)
            pvalue = _pvalue(search, observations, best.distribution, far, replicas, rng)
    # of values with weights, or that are not known exactly, there is no order of time
    in_order = None
    if weights is None and observations.exact and not isinstance(samples, Observations):
        array = real_array("samples", samples)
        in_order = array if array.ndim == 1 else array[:, 0]
    return FitReport(
        distribution=best.distribution._with_origin(FittedTo(in_order, how=best.label)),
        log_likelihood=best.log_likelihood,
        parameters=best.parameters,
        size=observations.size,
        label=best.label,
        converged=best.converged,
        trace=best.trace,
        data=data,
        candidates=tuple(candidate for candidate, _ in pairs),
        criterion=chosen_by,
        held=2 if family == "moments" else held,
        remarks=remarks,
        replicas=laws,
        ks_pvalue=pvalue,
    )


@dataclass(frozen=True)
class _Search:
    """One family with its constraints, ready to be fitted again and again."""

    family: str
    held: int
    seed: int

    def over(self, observations: Observations, orders: Sequence[int]) -> list[EMResult]:
        """All that was tried, most likely first, of orders that can hold the moments asked for."""
        if self.family == "moments":
            return [_moment_matched(observations)]
        fits: list[EMResult] = []
        refusal: InfeasibleMomentsError | None = None
        for order in orders:
            try:
                fits += maximise(
                    observations,
                    family=cast(Family, self.family),
                    order=order,
                    hold_moments=self.held,
                    rng=self.seed,
                )
            except InfeasibleMomentsError as error:
                refusal = error
        if not fits and refusal is not None:
            raise refusal
        fits.sort(key=lambda result: -result.log_likelihood)
        distinct: dict[str, EMResult] = {}
        for result in fits:  # several starts, or a setting of which a branch has died out
            distinct.setdefault(result.label, result)
        return list(distinct.values())

    def law(self, observations: Observations, order: int) -> PhaseType | None:
        """The most likely law of one order; None where no law has the moments to be held."""
        try:
            fits = self.over(observations, [order])
        except InfeasibleMomentsError:
            return None
        return fits[0].distribution


def _moment_matched(observations: Observations) -> EMResult:
    """First two moments of the positive times, and an atom for the zeros."""
    share = 1.0 - observations.atom
    law = match_moments(observations.moment(1) / share, observations.moment(2) / share)
    if observations.zeros > 0.0:
        law = PhaseType.from_rates(share * law.alpha, law.jumps, law.exit, atom=observations.atom)
    total = log_likelihood(law, observations)
    return EMResult(
        distribution=law,
        log_likelihood=total,
        trace=(total,),
        steps=0,
        converged=True,
        parameters=min(law.order, 2) + (observations.zeros > 0.0),
        label=f"two moments, order {law.order}",
        binning_error=0.0,
    )


def _observations_and_remarks(
    samples: ArrayLike | Observations, weights: ArrayLike | None, censored: Any
) -> tuple[Observations, tuple[str, ...]]:
    """The observations and what is doubtful about them."""
    if isinstance(samples, Observations):
        if weights is not None or censored is not None:
            raise ModelError("observations carry their own weights and censoring; leave both out")
        observations, doubt = samples, None
    else:
        observations = Observations.of(samples, weights=weights, censored=censored)
        in_order = weights is None and observations.exact and np.ndim(samples) == 1
        doubt = dependence(real_array("samples", samples)) if in_order else None
    remarks = [doubt] if doubt else []
    if observations.zeros > 0.0:
        remarks.append(
            f"{observations.atom:.2%} of the values are 0 and make an atom of the law: events in "
            f"batches, or a coarse clock; shift the values or leave out the zeros if the law is "
            f"to have none."
        )
    if np.isfinite(observations.upper).any():
        remarks.append(
            "Left- or interval-censored values do not identify a law of their own, so distances, "
            "moment and tail errors are not known."
        )
    return observations, tuple(remarks)


def _cross_validated(
    search: _Search, observations: Observations, tried: Sequence[EMResult], rng: np.random.Generator
) -> dict[int, float]:
    """Log-likelihood per positive time left out, of each order; zeros say nothing of the order.

    An order that cannot hold the moments of every fold has no score.
    """
    ended = np.append(np.ones(observations.values.size, bool), np.isfinite(observations.upper))
    least = 2 * _FOLDS
    if ended.sum() < least:
        raise ModelError(
            f"cross-validation in {_FOLDS} folds needs at least {least} positive times known to "
            f"have ended, got {ended.sum()}; choose by bic"
        )
    fold = np.empty(ended.size, dtype=np.intp)  # each with its part of the right-censored ones
    for group in (ended, ~ended):
        fold[group] = rng.permutation(int(group.sum())) % _FOLDS
    scores = dict.fromkeys((result.distribution.order for result in tried), 0.0)
    for k in range(_FOLDS):
        learn, judge = (_subset(observations, part) for part in (fold != k, fold == k))
        for order in list(scores):
            law = search.law(learn, order)
            if law is None:
                del scores[order]
            else:
                scores[order] += log_likelihood(law, judge) / observations.positive
    return scores


def _subset(observations: Observations, kept: NDArray[np.bool_]) -> Observations:
    """Some of the positive times."""
    exact, open_ = np.split(kept, [observations.values.size])
    return Observations(
        observations.values[exact],
        observations.weights[exact],
        observations.lower[open_],
        observations.upper[open_],
        observations.interval_weights[open_],
    )


def _draws_in_resample(observations: Observations) -> int:
    """Return the number of draws in a resampling."""
    count = round(observations.size)
    if count < 2:
        raise ModelError(
            f"a bootstrap takes weights as counts, but they sum to {observations.size:.6g}; "
            f"scale them to the number of observations"
        )
    return count


def _laws_refitted(
    search: _Search,
    observations: Observations,
    law: PhaseType,
    replicas: int,
    rng: np.random.Generator,
) -> tuple[PhaseType, ...]:
    """Laws of the same order fitted to resampled observations."""
    weights = np.concatenate([observations.weights, observations.interval_weights, [observations.zeros]])
    sizes = observations.values.size, observations.values.size + observations.lower.size
    laws: list[PhaseType] = []
    for _ in range(replicas):
        drawn = rng.multinomial(_draws_in_resample(observations), weights / weights.sum()).astype(float)
        exact, open_, zeros = np.split(drawn, sizes)
        some, others = exact > 0.0, open_ > 0.0
        again = Observations(
            observations.values[some],
            exact[some],
            observations.lower[others],
            observations.upper[others],
            open_[others],
            float(zeros[0]),
        )
        refitted = search.law(again, law.order)
        if refitted is not None:
            laws.append(refitted)
    return tuple(laws)


def _pvalue(
    search: _Search,
    observations: Observations,
    law: PhaseType,
    distance: float,
    replicas: int,
    rng: np.random.Generator,
) -> float:
    """Share of samples of `law`, the data among them, that lie as far from their own fits."""
    distances = [distance]
    for _ in range(replicas):
        again = Observations.of(law.rvs(_draws_in_resample(observations), random_state=rng))
        of_sample, refitted = empirical(again), search.law(again, law.order)
        if of_sample is not None and refitted is not None:
            distances.append(ks_distance(refitted, of_sample))
    return float(np.mean(np.array(distances) >= distance))


def _candidate(result: EMResult, size: float, scores: dict[int, float]) -> Candidate:
    k, total = result.parameters, result.log_likelihood
    order = result.distribution.order
    return Candidate(
        label=result.label,
        order=order,
        parameters=k,
        log_likelihood=total,
        aic=2.0 * k - 2.0 * total,
        bic=k * log(size) - 2.0 * total,
        cv=scores.get(order),
        steps=result.steps,
        converged=result.converged,
    )


def _criterion_value(candidate: Candidate, criterion: str) -> float:
    """The smaller, the better."""
    if criterion == "aic":
        return candidate.aic
    if criterion == "bic":
        return candidate.bic
    if criterion == "cv":
        return inf if candidate.cv is None else -candidate.cv
    return -candidate.log_likelihood


def _orders_in_time(
    orders: tuple[int, ...],
    observations: Observations,
    family: str,
    held: int,
    again: tuple[int, int],
    limit: float,
    *,
    fixed: bool,
) -> tuple[int, ...]:
    """The orders, or fewer unless they are `fixed`; ModelError if these take too long.

    `again` is how many folds and how many bootstrap samples are fitted besides.
    """
    folds, replicas = again
    times = 1 + folds + 2 * replicas
    one = estimated_seconds(observations, family, orders, held)
    if times * one <= limit:
        return orders
    several = len(orders) > 1
    most = orders_within if several else largest_within
    would_do = most(limit / times, observations, family, orders[-1], held)
    if would_do and not fixed:
        return orders[:would_do]
    ways = [f"{'max_order' if several else 'order'} {would_do}"] if would_do else []
    if replicas and (fewer := int((limit / one - 1 - folds) / 2)) >= 1:
        ways.append(f"bootstrap {fewer:,}")
    wanted = f"orders up to {orders[-1]}" if several else f"order {orders[-1]}"
    raise ModelError(
        f"a {family} fit of {wanted}{f', {times:,} times,' if times > 1 else ''} would take some "
        f"{times * one:,.0f} s of computing, more than the {limit:g} s allowed; "
        + (f"{' or '.join(ways)} would do, or " if ways else "")
        + "allow more seconds"
    )


def _orders_to_try(order: int | None, max_order: int | None, family: str) -> tuple[int, ...]:
    most = _MOST_TRIED if max_order is None else whole_number("max_order", max_order, least=1)
    if family == "moments":
        if order is not None:
            raise ModelError("the moments decide the order of their law; leave order out")
        return (1,)
    orders = range(1, most + 1) if order is None else (whole_number("order", order, least=1),)
    largest = LARGEST[cast(Family, family)]
    if orders[-1] > largest:
        name = "max_order" if order is None else "order"
        raise ModelError(f"{name} must be <= {largest} for {family}, got {orders[-1]}")
    return tuple(orders)
