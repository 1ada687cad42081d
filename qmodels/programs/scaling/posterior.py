"""Random draws of what each burst of a program costs, where its law and noise are uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.programs.phases import Component
from qmodels.programs.scaling.centre import centre_of
from qmodels.programs.scaling.evidence import SIGMAS, Weighed
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.terms import Library, formula

_SPREADS = (0.05, 0.3, 1.0)  # of log sigma between the bursts of a program
_LAWS_KEPT = 20
_CENTRED = 1000  # draws in the middle of which the law lies that stands for all


@dataclass(frozen=True, eq=False)
class WeighedLaw:
    """One law of a burst: what it is made of, and how probable it is after the runs.

    It stands for all laws that are the same on these runs.
    """

    terms: tuple[int, ...]  #: places in the library
    probability: float  #: after the runs
    coefficients: Array  #: posterior means given this law, seconds


@dataclass(frozen=True, eq=False)
class Posterior:
    """Laws of one burst and their probabilities after the runs."""

    library: Library  #: the terms tried
    laws: tuple[WeighedLaw, ...]  #: most probable first
    centre: Array  #: (terms,) coefficients of the law in the middle of the draws, seconds
    draws: Array  #: (draws, terms) coefficients, seconds
    sigmas: Array  #: (draws,) relative noise
    sigma: float  #: its posterior median
    present: Array  #: (terms,) probability that the law has the term

    @property
    def kind(self) -> Component:
        """Component of the burst."""
        return self.library.kind

    @property
    def formula(self) -> str:
        """The most probable law, seconds."""
        top = self.laws[0]
        return formula(tuple(self.library.terms[j] for j in top.terms), top.coefficients)

    @property
    def likeliest(self) -> Array:
        """(terms,) coefficients of the most probable law."""
        coefficients = np.zeros(len(self.library))
        coefficients[list(self.laws[0].terms)] = self.laws[0].coefficients
        return coefficients

    def seconds(self, p: Array, d: Array) -> Array:
        """Return the time of the burst by the law in the middle.

        Parameters
        ----------
        p, d : (n,) ndarray
            The allotments.
        """
        return np.asarray(self.centre @ self.library.values(p, d))


def settled(
    weighed: Sequence[Weighed],
    runs: Sequence[Pooled],
    *,
    draws: int,
    seed: int,
    streams: Sequence[int] | None = None,
) -> list[Posterior]:
    """Return the laws of all bursts of a program, their noise settled together.

    The logarithms of their relative noise are normal about a common centre, both unknown: a burst measured
    too seldom to show its noise borrows that of the others.

    Parameters
    ----------
    weighed : sequence of Weighed
        Points of each burst's posterior.
    runs : sequence of Pooled
        Runs by which each was weighed.
    draws : int
        Draws of each burst.
    seed : int
        Of the draws.
    streams : sequence of int, optional
        Number of the random stream of each burst; by default its place.
    """
    posteriors = []
    weighed = [one.with_odds() for one in weighed]
    numbers = range(len(weighed)) if streams is None else streams
    for one, timed, stream, noise in zip(weighed, runs, numbers, _log_noise_posterior(weighed), strict=True):
        rng = np.random.default_rng([seed, stream])
        weights = _weights(one, noise)
        coefficients, sigmas = _coefficient_draws(one, weights, draws, rng)
        # Drawn with the same numbers for every burst: equal runs have one law in the middle.
        centred = _coefficient_draws(one, weights, _CENTRED, np.random.default_rng(seed))[0]
        # One place more takes what the unused terms of short laws would add.
        mean, present = np.zeros((2, coefficients.shape[1] + 1))
        by_law, mass = np.einsum("nq,nqk->nk", weights, one.coefficients), weights.sum(axis=1)
        np.add.at(mean, one.terms, by_law)
        np.add.at(present, one.terms, mass[:, None])
        posteriors.append(
            Posterior(
                library=one.library,
                laws=_probable_laws(one, mass, by_law),
                centre=centre_of(one.library, mean[:-1], centred, timed),
                draws=coefficients,
                sigmas=sigmas,
                sigma=float(np.median(sigmas)),
                present=present[:-1],
            )
        )
    return posteriors


def _log_noise_posterior(weighed: Sequence[Weighed]) -> list[Array]:
    """Log posterior of sigma less its log evidence on `SIGMAS`, one array per burst."""
    evidences = [one.by_sigma() for one in weighed]
    logs = np.log(SIGMAS)
    hyper, joints = [], []
    for spread in _SPREADS:
        prior = -0.5 * ((logs[:, None] - logs) / spread) ** 2  # (centre, sigma)
        prior -= np.logaddexp.reduce(prior, axis=1, keepdims=True)
        joint = [prior + evidence for evidence in evidences]
        hyper.append(sum(np.logaddexp.reduce(one, axis=1) for one in joint))
        joints.append(joint)
    log_hyper = np.array(hyper) - np.logaddexp.reduce(hyper, axis=None)  # (spread, centre)
    log_noise = []
    for burst in range(len(evidences)):
        log_sigma = np.full(SIGMAS.size, -np.inf)
        for weight, joint in zip(log_hyper, joints, strict=True):
            within = joint[burst] - np.logaddexp.reduce(joint[burst], axis=1, keepdims=True)
            here = np.logaddexp.reduce(within + weight[:, None], axis=0)
            log_sigma = np.logaddexp(log_sigma, here)
        seen = np.isfinite(evidences[burst])
        shift = np.zeros(SIGMAS.size)
        shift[seen] = log_sigma[seen] - evidences[burst][seen]
        log_noise.append(shift)
    return log_noise


def _weights(weighed: Weighed, shift: Array) -> Array:
    weights = np.exp(weighed.log_weight + shift[weighed.sigma][:, None])
    return np.asarray(weights / weights.sum())


def _coefficient_draws(
    weighed: Weighed, weights: Array, draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Coefficients (draws, terms) and noise (draws,)."""
    picked = _drawn_places(weights.ravel(), draws, rng)
    pair = picked // weights.shape[1]
    drawn = np.zeros((draws, len(weighed.library) + 1))
    coefficients = weighed.coefficients.reshape(-1, weighed.terms.shape[1])[picked]
    np.put_along_axis(drawn, weighed.terms[pair], coefficients, axis=1)
    return drawn[:, :-1], SIGMAS[weighed.sigma[pair]]


def _drawn_places(weights: Array, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw places evenly in proportion to their weights, in random order."""
    cumulative = np.cumsum(weights)
    at = (np.arange(draws) + rng.random()) / draws * cumulative[-1]
    return rng.permutation(np.searchsorted(cumulative, at))


def _probable_laws(weighed: Weighed, mass: Array, by_law: Array) -> tuple[WeighedLaw, ...]:
    """Laws by their probability; those that are the same on these runs count as the simplest."""
    used = weighed.terms >= 0
    simplest = np.where(used, weighed.alias[weighed.terms], -1)
    sums = np.where(used, by_law * weighed.worth[weighed.terms], 0.0)
    order = np.argsort(simplest, axis=1)
    distinct, place = np.unique(np.take_along_axis(simplest, order, 1), axis=0, return_inverse=True)
    place, sums = place.ravel(), np.take_along_axis(sums, order, 1)
    probability = np.bincount(place, weights=mass)
    total = np.stack([np.bincount(place, weights=column) for column in sums.T], axis=1)
    laws = []
    for at in np.argsort(-probability, kind="stable")[:_LAWS_KEPT]:
        if probability[at] <= 0:
            break
        named = distinct[at] >= 0
        terms = tuple(int(j) for j in distinct[at][named])
        laws.append(WeighedLaw(terms, float(probability[at]), total[at][named] / probability[at]))
    return tuple(laws)
