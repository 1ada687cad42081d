"""The terms a scaling law may be made of, by burst, and how likely each is beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Literal

import numpy as np

from phasefit.arrays import Array, Indices
from qmodels.programs.phases import Component

#: R of ``min(d, p/R)`` tried in a fit, from 1/4 to 64 times the fewest processors per disk, eight to the
#: octave: with half powers of two alone the misfit of an R between them passes for growth elsewhere.
PROCESSORS_PER_DISK = tuple(2.0 ** (k / 8) for k in range(-16, 49))

#: Exponents of terms that scale less than proportionally.
EXPONENTS = (0.9, 0.8, 0.7, 0.6, 0.5)

MOST_TERMS = 3  #: of a law

#: Odds against each term that grows in proportion to p, d or p/d, and against slower growth. Where the runs
#: do not show such a term, few programs have one, and what it would add far outside the runs outweighs all
#: that they show.
GROWTH_ODDS, SLOW_ODDS = 10.0, 3.0

#: Odds for the constant of Amdahl's law and for collective steps, log2(p)/p. These and the odds of slower
#: growth were learnt from the fitting half of 180 published tables (`tests/campaigns/measured_series.py`);
#: the second of the above was set from 10 to 3 when the checking half had been seen once.
COMMON_ODDS = 3.0

#: Odds for what is a node's own and for the step beyond it, where runs lie on several parts of a node.
NODE_ODDS = 10.0

_GROWING = ("growth with p", "growth with d", "p/d")
_SLOW = ("growth with p, less than in proportion",)
_COMMON = ("constant", "collective steps")
_OF_NODES = ("constant of a node", "beyond a node, over p")

_SAME = 1e-9  # relative difference below which two directions are one

Part = Literal["sequential", "scaling", "growth"]


@dataclass(frozen=True)
class Term:
    """One term phi(p, d) of a law a_1 phi_1 + a_2 phi_2 + ..."""

    text: str  #: phi as text, ``1/p``
    family: str  #: of which a law has at most one member
    part: Part  #: of a burst's time it belongs to

    def times(self, coefficient: float) -> str:
        """Return the term with its coefficient, as text.

        Parameters
        ----------
        coefficient : float
            Seconds.
        """
        number = f"{coefficient:.4g}"
        if self.text == "1":
            return number
        return number + self.text[1:] if self.text.startswith("1/") else f"{number}*{self.text}"


@dataclass(frozen=True, eq=False)
class Subsets:
    """All laws of one number of terms: the terms (n, k) and the prior probability of each."""

    terms: Indices  #: places in the library, (n, k)
    log_prior: Array  #: logarithm of the prior probability, (n,)


@dataclass(frozen=True)
class Scale:
    """Units in which a program's processors count: a table in cores or in nodes is the same table.

    Parameters
    ----------
    first : float
        Fewest processors of the runs, from which growth is counted.
    node : float
        Most processors of a single node, inf where it is not known.
    inside : bool or None
        Whether several numbers of processors of a single node were run, or whole nodes alone; None where
        nodes are not known or runs were of several sizes of the problem.
    """

    first: float = 1.0
    node: float = math.inf
    inside: bool | None = None

    @property
    def edged(self) -> bool:
        """Runs on a single node are among the runs, so that laws have terms beyond it."""
        return self.first <= self.node < math.inf


@dataclass(frozen=True, eq=False)
class Library:
    """Terms tried for one kind of burst, simplest first in each family."""

    kind: Component  #: component of the burst
    terms: tuple[Term, ...]  #: simplest first in each family
    scale: Scale = Scale()  #: what processors are counted in
    over_disks: bool = False  #: terms in disks are among them

    def __len__(self) -> int:
        return len(self.terms)

    def values(self, p: Array, d: Array) -> Array:
        """Return phi_j(p_i, d_i), shape (terms, n).

        Parameters
        ----------
        p, d : (n,) ndarray
            The allotments.
        """
        log_p, log_d = np.log(p), np.log(d)
        one, powers = np.ones(p.size), np.array((1.0, *EXPONENTS))[:, None]
        times = np.maximum(p / self.scale.first, 1.0)
        rows = [one, *np.exp(-powers * log_p)]
        rows += [np.log2(times), np.sqrt(times) - 1.0, times - 1.0, np.log2(times) / p]
        if self.scale.edged:
            beyond = np.maximum(p / self.scale.node, 1.0)
            rows += [np.where(beyond > 1.0, 1.0, 0.0), np.where(beyond > 1.0, 1.0 / p, 0.0)]
            rows.append(np.log2(beyond) / p)
        if self.scale.inside and not self.over_disks:
            rows.append(1.0 / np.maximum(p / self.scale.node, 1.0))
        if self.over_disks:
            rows += [*np.exp(-powers * log_d), 1.0 / (p * d), p / d, d - 1.0]
            logs = np.minimum(log_d, log_p - np.log(self.processors_per_disk)[:, None])
            rows.append(np.exp(-logs))
            rows += [*np.exp(-powers[1:, :, None] * logs[::4])]
        return np.vstack(rows)

    @property
    def processors_per_disk(self) -> Array:
        """R of ``min(d, p/R)`` that are tried."""
        return self.scale.first * np.array(PROCESSORS_PER_DISK)

    def log_odds(self) -> Array:
        """Return the log prior odds of each term, with 0 for no term at the end."""
        odds = [(_GROWING, 1.0 / GROWTH_ODDS), (_SLOW, 1.0 / SLOW_ODDS), (_COMMON, COMMON_ODDS)]
        if self.scale.inside and not self.over_disks:
            odds.append((_OF_NODES, NODE_ODDS))
        of_family = {family: math.log(each) for families, each in odds for family in families}
        return np.array([*(of_family.get(term.family, 0.0) for term in self.terms), 0.0])

    def families(self) -> dict[str, list[int]]:
        """Return the places of the members of each family."""
        places: dict[str, list[int]] = {}
        for place, term in enumerate(self.terms):
            places.setdefault(term.family, []).append(place)
        return places


@lru_cache(maxsize=64)  # of at most 170 terms, mostly text
def library(kind: Component, scale: Scale = Scale(), *, one_level: bool = False) -> Library:
    """Return the terms tried for I/O or for computation.

    Parameters
    ----------
    kind : {"io", "cpu"}
        Component of the burst.
    scale : Scale
        Fewest processors of the runs, and processors of a node.
    one_level : bool
        Whether all I/O was timed on one number of disks. Such runs tell of processors alone, as those of
        computation do.
    """
    over_disks = kind == "io" and not one_level
    terms = [Term("1", "constant", "sequential"), *_powers("p")]
    slow = "growth with p, less than in proportion"
    times = "p" if scale.first == 1.0 else f"p/{scale.first:.10g}"
    terms += [Term(f"log2({times})", slow, "growth"), Term(f"(sqrt({times})-1)", slow, "growth")]
    terms.append(Term(f"({times}-1)", "growth with p", "growth"))
    terms.append(Term(f"log2({times})/p", "collective steps", "growth"))
    if scale.edged:
        beyond = f"[p>{scale.node:.10g}]"
        terms.append(Term(beyond, "beyond a node", "growth"))
        terms.append(Term(f"{beyond}/p", "beyond a node, over p", "growth"))
        terms.append(Term(f"{beyond}*log2(p/{scale.node:.10g})/p", "beyond a node, over p", "growth"))
    if scale.inside and not over_disks:
        terms.append(Term(f"min(1, {scale.node:.10g}/p)", "constant of a node", "scaling"))
    if over_disks:
        terms += _powers("d")
        terms.append(Term("1/(p*d)", "1/(p*d)", "scaling"))
        terms.append(Term("p/d", "p/d", "scaling"))
        terms.append(Term("(d-1)", "growth with d", "growth"))
        ratios = [scale.first * r for r in PROCESSORS_PER_DISK]
        fed = [f"min(d, p/{r:.4g})" for r in ratios[::4]]
        terms += [Term(f"1/min(d, p/{r:.4g})", "fed disks", "scaling") for r in ratios]
        slow = "fed disks, less than in proportion"
        terms += [Term(f"1/{h}^{a:g}", slow, "scaling") for a in EXPONENTS for h in fed]
    return Library(kind, tuple(terms), scale, over_disks)


def subsets(shown: Library) -> tuple[Subsets, ...]:
    """Return all laws of one, two and three terms, with their prior probabilities.

    Every combination of families is as likely as any other, and its mass is shared by its
    members: a family with many members does not crowd out one with few. A law of growth alone would take
    no time on the fewest processors that were run, and is none.

    Parameters
    ----------
    shown : Library
        The terms.
    """
    return _subsets(shown.over_disks, shown.scale.edged, bool(shown.scale.inside))


@lru_cache(maxsize=4)  # indices of some 300,000 laws, 10 MB, where there are disks
def _subsets(over_disks: bool, edged: bool, inside: bool) -> tuple[Subsets, ...]:
    shown = library("io" if over_disks else "cpu", Scale(node=1.0 if edged else math.inf, inside=inside))
    growing = [term.part == "growth" for term in shown.terms]
    by_size = [
        [
            chosen
            for chosen in combinations(shown.families().values(), k)
            if not all(growing[members[0]] for members in chosen)
        ]
        for k in range(1, MOST_TERMS + 1)
    ]
    each = -np.log(sum(len(chosen) for chosen in by_size))
    laws = []
    for chosen in by_size:
        terms = [np.array(list(product(*members)), dtype=np.intp) for members in chosen]
        log_prior = [np.full(len(rows), each - np.log(len(rows))) for rows in terms]
        laws.append(Subsets(np.concatenate(terms), np.concatenate(log_prior)))
    return tuple(laws)


def proportional(values: Array) -> list[list[int]]:
    """Return the places of terms by direction, simplest first; zero rows are left out.

    Parameters
    ----------
    values : (terms, n) ndarray
        Values of the terms.
    """
    size = np.max(values, axis=1)
    seen = size > _SAME
    unit = values / np.where(seen, size, 1.0)[:, None]
    groups: list[list[int]] = []
    left = np.nonzero(seen)[0]
    while left.size:
        same = np.max(np.abs(unit[left] - unit[left[0]]), axis=1) < _SAME
        groups.append(left[same].tolist())
        left = left[~same]
    return groups


def formula(terms: tuple[Term, ...], coefficients: Array) -> str:
    """Return a law as text, seconds.

    Parameters
    ----------
    terms : tuple of Term
        The terms of the law.
    coefficients : (k,) ndarray
        Seconds.
    """
    return " + ".join(term.times(a) for term, a in zip(terms, coefficients.tolist(), strict=True))


def _powers(unit: str) -> list[Term]:
    family = f"1/{unit}^a"
    shallow = [Term(f"1/{unit}^{a:g}", family, "scaling") for a in EXPONENTS]
    return [Term(f"1/{unit}", f"1/{unit}", "scaling"), *shallow]
