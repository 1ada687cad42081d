"""Scaling laws with a random parameter: h(p, d; theta), where theta differs from burst to burst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_array
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.programs.mean_ratios import (
    AbstractMeanRatio,
    ContentionRatio,
    FedDisksByLaw,
    FedDisksByValues,
    Form,
    RatioByValues,
    ratios,
)
from qmodels.programs.quadrature import Nodes, nodes_of, reach
from qmodels.programs.quantities import ByValue, Quantity, as_sample, drawn, kept, mean_of

OfLength = Callable[[Array], Any]

FED, CONTENDED = "min(d, p/R)", "p/(1+C*(p-1))"
FORMS = (FED, CONTENDED)  #: texts of the forms that have one

_FORMS: dict[str, Form] = {
    FED: lambda p, d, r: np.minimum(d, p / r),
    CONTENDED: lambda p, d, c: p / (1.0 + c * (p - 1.0)),
}
_LEAST_FED = 1e-12  # R of which less is taken as this: a disk that no processor need feed


@dataclass(frozen=True, eq=False)
class RandomLaw(ByValue, Record):
    """A scaling law whose parameter is a random variable; the `law` of a `Burst`.

    Parameters
    ----------
    form : str or callable
        ``"min(d, p/R)"`` with R random, ``"p/(1+C*(p-1))"`` with C random, or any function
        h(p, d, theta) of three arrays that broadcast. Only ratios of h matter.
    parameter : float, (n,) array_like, law or callable
        theta >= 0: a number, measured values, a law (`phasefit.PhaseType`, a frozen law of
        scipy.stats), drawn for each burst independently of its length; or a function of the
        burst's own length T (an array of seconds on one processor and one disk).

    Raises
    ------
    ModelError
        If the form is unknown, theta is negative or has no finite mean, R may be 0, or C may
        be above 1.

    Notes
    -----
    What enters the mean time of a burst is E[s_pd (T - o_11)] with
    s_pd = h(1, 1; theta) / h(p, d; theta), which is E[s_pd] E[T - o_11] for independent theta,
    equation (3) of [1]_. Numbers and samples, discrete laws, and any independent C (s is linear
    in it) are averaged exactly. For an independent R with a continuous law the integrals of its
    distribution function are splined, relative error 1e-8 for smooth laws. Else a continuous law
    is averaged by 513 quantiles: relative error 1e-9 where h is smooth in theta, 1e-4 where it
    has a corner. `Burst.mean_error` estimates the error at an allotment.

    References
    ----------
    .. [1] Rosti et al. 1998, section 2.1.

    Examples
    --------
    Half of the bursts do not scale, half scale perfectly; on 4 processors s is 1 or 1/4:

    >>> from qmodels.programs.phases import Burst
    >>> burst = Burst(80.0, law=RandomLaw("p/(1+C*(p-1))", [0.0, 1.0]))
    >>> float(burst.mean_time(p=4, d=1))
    50.0

    Bursts longer than a minute are those that do not scale:

    >>> law = RandomLaw("p/(1+C*(p-1))", lambda seconds: seconds > 60.0)
    >>> float(Burst([20.0, 140.0], law=law).mean_time(p=4, d=1))
    72.5
    """

    form: str | Form
    parameter: Quantity | OfLength

    def __post_init__(self) -> None:
        if isinstance(self.form, str):
            bare = self.form.replace(" ", "")
            by_bare_text = {text.replace(" ", ""): text for text in FORMS}
            if bare not in by_bare_text:
                shown = repr(self.form)
                raise ModelError(
                    f"unknown form {shown if len(shown) <= 60 else shown[:57] + '...'}; write "
                    f"one of: {'; '.join(FORMS)}, or give a function h(p, d, theta)"
                )
            object.__setattr__(self, "form", by_bare_text[bare])
        elif not callable(self.form) or isinstance(self.form, type):
            raise ModelError(f"form must be a text like {FED!r} or h(p, d, theta)")
        if self.follows_length:
            return
        parameter: Any = self.parameter
        object.__setattr__(self, "parameter", kept("parameter", parameter))
        if self.form in FORMS:
            self._check(*reach("parameter", parameter))

    @property
    def follows_length(self) -> bool:
        """True if theta is a function of the burst's own length."""
        theta = self.parameter
        return callable(theta) and not isinstance(theta, type) and not hasattr(theta, "mean")

    def __str__(self) -> str:
        form = self.form if isinstance(self.form, str) else "h(p, d, theta)"
        return f"{form}, random"

    @cached_property
    def mean_ratio(self) -> AbstractMeanRatio:
        """E[s_pd] of a parameter that is independent of the burst."""
        parameter: Any = self.parameter
        if self.form == CONTENDED:
            return ContentionRatio(mean_of(parameter, "parameter"))
        has_density = as_sample("parameter", parameter) is None and not hasattr(parameter, "pmf")
        if self.form == FED and has_density and hasattr(parameter, "cdf"):
            low, high = (max(end, _LEAST_FED) for end in reach("parameter", parameter))
            return FedDisksByLaw(parameter, low, high)
        return self.mean_ratio_over(nodes_of("parameter", parameter))

    def mean_ratio_over(self, theta: Nodes) -> AbstractMeanRatio:
        """Return E[s_pd] over given values of theta with their weights.

        Parameters
        ----------
        theta : Nodes
            The values.
        """
        self._check(float(theta.values.min()), float(theta.values.max()))
        if self.form == CONTENDED:
            mean = float(theta.weights @ theta.values)
            half = theta.halved()
            gap = 0.0 if theta.exact else abs(mean - float(half.weights @ half.values))
            return ContentionRatio(mean, gap, theta.exact)
        if self.form == FED:
            return FedDisksByValues(theta, theta.exact)
        return RatioByValues(self._function, theta, theta.exact)

    def at_length(self, seconds: Array) -> Array:
        """Return theta of bursts of given lengths, (n,).

        Parameters
        ----------
        seconds : (n,) ndarray
            The lengths.

        Raises
        ------
        ModelError
            If the parameter is no function of them.
        """
        function: Any = self.parameter
        try:
            answer = np.asarray(function(seconds))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ModelError(f"parameter is no function of an array of seconds: {error}") from error
        answer = answer.astype(float) if answer.dtype.kind == "b" else answer
        theta = real_array("parameter(seconds)", answer)
        try:
            theta = np.array(np.broadcast_to(theta, seconds.shape))
        except ValueError:
            raise ModelError(f"parameter answered shape {theta.shape} for {seconds.size} lengths") from None
        if theta.size:
            self._check(float(theta.min()), float(theta.max()))
        return theta

    def drawn_at(self, seconds: Array, *, rng: np.random.Generator) -> Array:
        """Draw theta for bursts of given lengths.

        Parameters
        ----------
        seconds : (n,) ndarray
            The lengths.
        rng : numpy.random.Generator
            Where randomness comes from.

        Returns
        -------
        (n,) ndarray
            A value for each burst.
        """
        if self.follows_length:
            return self.at_length(seconds)
        parameter: Any = self.parameter
        return drawn(parameter, rng=rng, size=seconds.size)

    def ratios(self, p: Array, d: Array, theta: Array) -> Array:
        """Return s_pd of each theta on each allotment, (k, n).

        Parameters
        ----------
        p, d : (k,) ndarray
            Processors and disks.
        theta : (n,) ndarray
            Values of the parameter.
        """
        s = ratios(self._function, p[:, None], d[:, None], theta)
        return np.broadcast_to(s, (p.size, theta.size))

    def in_unit(self, factor: float) -> RandomLaw:
        """Return the law for bursts whose lengths have been multiplied by a factor.

        Parameters
        ----------
        factor : float
            Above zero.
        """
        if not self.follows_length:
            return self
        function: Any = self.parameter
        return RandomLaw(self.form, _InUnit(function, factor))

    @property
    def _function(self) -> Form:
        return _FORMS[self.form] if isinstance(self.form, str) else self.form

    def _check(self, low: float, high: float) -> None:
        """Raise ModelError unless values from `low` to `high` fit the form."""
        if low < 0:
            raise ModelError(f"the parameter of a random law must be >= 0, got {low:.6g}")
        if self.form == CONTENDED and high > 1.0:
            raise ModelError(
                f"the contention C must be from 0 to 1, but reaches {high:.6g}; use a law on that "
                f"interval, such as scipy.stats.beta"
            )
        if self.form == FED and low <= 0:
            raise ModelError("the processors per disk R must be above 0, got 0")


@dataclass(frozen=True, eq=False)
class _InUnit:
    """A function of seconds, for lengths in another unit."""

    function: OfLength
    factor: float

    def __call__(self, lengths: Array) -> Any:
        return self.function(lengths / self.factor)
