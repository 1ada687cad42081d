"""Questions that runs on the chosen allotments leave open, and how far apart the answers are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.programs.phases import Component
from qmodels.programs.scaling.posterior import Posterior
from qmodels.programs.scaling.terms import Library, proportional

_EQUAL = 1e-9  # relative difference below which directions and slopes are the same
_LIKELY = 0.5  # posterior probability of a term that makes its doubts worth a sentence

_UNITS = {"p": "processors", "d": "disks"}


@dataclass(frozen=True, eq=False)
class Design:
    """Distinct allotments on which one burst was timed.

    Parameters
    ----------
    library : Library
        The terms tried.
    p, d : (k,) ndarray
        Processors and disks of each.
    """

    library: Library
    p: Array
    d: Array

    @property
    def kind(self) -> Component:
        """Component of the burst."""
        return self.library.kind

    @property
    def fixed(self) -> tuple[str, ...]:
        """Factors with one level that the burst may depend on: of ``p`` and ``d``."""
        watched = {"p": self.p} if self.kind == "cpu" else {"p": self.p, "d": self.d}
        return tuple(name for name, levels in watched.items() if np.ptp(levels) == 0)

    @property
    def slope(self) -> float | None:
        """S if processors and disks only grew together, d = c p^s; else None."""
        if self.kind == "cpu" or np.ptp(self.p) == 0 or np.ptp(self.d) == 0:
            return None
        log_p, log_d = np.log(self.p), np.log(self.d)
        ends = np.argsort(log_p)[[0, -1]]
        slope = float(np.diff(log_d[ends])[0] / np.diff(log_p[ends])[0])
        off = log_d - log_d[ends[0]] - slope * (log_p - log_p[ends[0]])
        return slope if np.max(np.abs(off)) < _EQUAL and slope != 0 else None

    @property
    def determined(self) -> bool:
        """True if the runs, not the prior, decide at every allotment."""
        return not self.fixed and self.slope is None

    def alias_classes(self) -> tuple[tuple[str, ...], ...]:
        """Return the terms that are proportional to each other on these allotments, two or more a class."""
        terms = self.library.terms
        groups = proportional(self.library.values(self.p, self.d))
        return tuple(tuple(terms[j].text for j in one) for one in groups if len(one) > 1)

    def invisible(self) -> tuple[str, ...]:
        """Return the terms that are zero on all these allotments."""
        columns = self.library.values(self.p, self.d)
        unseen = np.max(columns, axis=1) <= _EQUAL
        return tuple(t.text for t, no in zip(self.library.terms, unseen, strict=True) if no)

    def known(self, p: Array, d: Array) -> NDArray[np.bool_]:
        """Return on which allotments the runs decide the time of the burst, (n,).

        Parameters
        ----------
        p, d : (n,) ndarray
            The allotments.
        """
        decided = np.ones(p.size, dtype=bool)
        if "p" in self.fixed:
            decided &= p == self.p[0]
        if "d" in self.fixed:
            decided &= d == self.d[0]
        if self.slope is not None:
            decided &= np.abs(np.log(d / self._partner_disks(p))) < _EQUAL
        return decided

    def stand_ins(self, p: Array, d: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield allotments (p, d) that the runs do tell about, and factors (low, high) from there.

        What more of a factor that was never varied does is between nothing and a gain in
        proportion. The answer lies between the least low and the largest high value.

        Parameters
        ----------
        p, d : (n,) ndarray
            Allotments that they do not tell about.

        Yields
        ------
        tuple of ndarray
            p, d, low and high, (n,) each.
        """
        one = np.ones(p.size)
        if self.slope is not None:
            yield p, self._partner_disks(p), one, one
            # The same line the other way round: as many processors as went with these disks.
            at_one = self._partner_disks(one)
            yield (d / at_one) ** (1.0 / self.slope), d, one, one
            return
        low, high = one, one
        for name in self.fixed:
            level = self.p[0] if name == "p" else self.d[0]
            ratio = level / (p if name == "p" else d)
            low, high = low * np.minimum(ratio, 1.0), high * np.maximum(ratio, 1.0)
        yield (
            one * self.p[0] if "p" in self.fixed else p,
            one * self.d[0] if "d" in self.fixed else d,
            low,
            high,
        )

    def _partner_disks(self, p: Array) -> Array:
        """Disks that went with `p` processors where both only grew together."""
        assert self.slope is not None
        return np.asarray(self.d[0] * (p / self.p[0]) ** self.slope)

    def doubts(self, posterior: Posterior) -> Iterator[str]:
        """Yield sentences on what the runs of the burst leave open.

        Parameters
        ----------
        posterior : Posterior
            Laws of the burst.

        Yields
        ------
        str
            A sentence.
        """
        factors = ("p",) if self.kind == "cpu" else ("d", "p")
        levels = {name: np.unique(self.p if name == "p" else self.d) for name in factors}
        # First what leaves the burst undetermined: refusals give the first of these sentences.
        for name, run in levels.items():
            if run.size == 1:
                yield (
                    f"every run has {name} = {run[0]:g}, so what more {_UNITS[name]} do cannot "
                    f"be told; add runs with another {name}"
                )
        if self.slope is not None:
            grew = f"p/d = {self.p[0] / self.d[0]:g} in every run"
            if abs(self.slope - 1.0) > _EQUAL:
                grew = "p and d only changed together"
            yield (f"{grew}, so processors and disks cannot be told apart; vary one of them alone")
        for name, run in levels.items():
            if run.size == 2:
                yield (
                    f"only {name} = {run[0]:g} and {run[1]:g} were run, so the shape over "
                    f"{_UNITS[name]} is assumed, not seen; add a third {name}"
                )
        if self.kind == "io" and self.determined:
            yield from self._limits_never_met(posterior)

    def _limits_never_met(self, posterior: Posterior) -> Iterator[str]:
        ratios = self.p / self.d
        texts = [term.text for term in posterior.library.terms]
        classes = {text: one for one in self.alias_classes() for text in one}
        for text, sentence in (
            (
                "1/p",
                f"the disks never were the limit up to p/d = {ratios.max():g}; add runs with "
                f"more processors per disk",
            ),
            (
                "1/d",
                f"the processors never were the limit down to p/d = {ratios.min():g}; with fewer "
                f"processors per disk the time may be longer",
            ),
        ):
            members = classes.get(text, ())
            fed = any("min(" in other for other in members)
            if fed and sum(posterior.present[texts.index(x)] for x in members) >= _LIKELY:
                yield sentence
