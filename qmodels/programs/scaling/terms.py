"""The terms a scaling law may be made of, by burst, and how likely each is beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Literal

import numpy as np

from phasefit.arrays import Array, Indices
from qmodels.programs.phases import Component

#: R of ``min(d, p/R)`` tried in a fit, from 1/4 to 64 processors per disk, eight to the octave:
#: with half powers of two alone the misfit of an R between them passes for growth elsewhere.
PROCESSORS_PER_DISK = tuple(2.0 ** (k / 8) for k in range(-16, 49))

_COARSE = PROCESSORS_PER_DISK[::4]  # for powers of min(d, p/R)

#: Exponents of terms that scale less than proportionally.
EXPONENTS = (0.9, 0.8, 0.7, 0.6, 0.5)

MOST_TERMS = 3  #: of a law

#: Odds against each term that grows in proportion, or with p/d, under the sparing prior. Where
#: the runs do not show such a term, few programs have one, and what it would add far outside the
#: runs outweighs all that they show.
SPARING_ODDS = 10.0

#: Odds of growth in proportion under the cautious prior.
CAUTIOUS_ODDS = 4.0

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


@dataclass(frozen=True, eq=False)
class Library:
    """Terms tried for one kind of burst, simplest first in each family."""

    kind: Component  #: component of the burst
    terms: tuple[Term, ...]  #: simplest first in each family

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
        growth = [np.log2(p), np.sqrt(p) - 1.0, p - 1.0]
        rows = [one, *np.exp(-powers * log_p), *growth]
        if self.kind == "io":
            rows += [*np.exp(-powers * log_d), 1.0 / (p * d), p / d, d - 1.0]
            logs = np.minimum(log_d, log_p - np.log(PROCESSORS_PER_DISK)[:, None])
            rows.append(np.exp(-logs))
            rows += [*np.exp(-powers[1:, :, None] * logs[::4])]
        return np.vstack(rows)

    def log_sparing(self) -> Array:
        """Return the log odds of each term under the sparing prior, with 0 for no term at the end."""
        return self._log_odds(("growth with p", "growth with d", "p/d"), 1.0 / SPARING_ODDS)

    def log_caution(self) -> Array:
        """Return the log odds of each term under the cautious prior, with 0 for no term at the end."""
        return self._log_odds(("growth with p", "growth with d"), CAUTIOUS_ODDS)

    def _log_odds(self, families: tuple[str, ...], odds: float) -> Array:
        chosen = [term.family in families for term in self.terms]
        return np.log(np.where([*chosen, False], odds, 1.0))

    def families(self) -> dict[str, list[int]]:
        """Return the places of the members of each family."""
        places: dict[str, list[int]] = {}
        for place, term in enumerate(self.terms):
            places.setdefault(term.family, []).append(place)
        return places


@lru_cache(maxsize=2)
def library(kind: Component) -> Library:
    """Return the terms tried for I/O or for computation.

    Parameters
    ----------
    kind : {"io", "cpu"}
        Component of the burst.
    """
    terms = [Term("1", "constant", "sequential"), *_powers("p")]
    slow = "growth with p, less than in proportion"
    terms += [Term("log2(p)", slow, "growth"), Term("(sqrt(p)-1)", slow, "growth")]
    terms.append(Term("(p-1)", "growth with p", "growth"))
    if kind == "io":
        terms += _powers("d")
        terms.append(Term("1/(p*d)", "1/(p*d)", "scaling"))
        terms.append(Term("p/d", "p/d", "scaling"))
        terms.append(Term("(d-1)", "growth with d", "growth"))
        fed = [f"min(d, p/{r:.4g})" for r in _COARSE]
        terms += [Term(f"1/min(d, p/{r:.4g})", "fed disks", "scaling") for r in PROCESSORS_PER_DISK]
        slow = "fed disks, less than in proportion"
        terms += [Term(f"1/{h}^{a:g}", slow, "scaling") for a in EXPONENTS for h in fed]
    return Library(kind, tuple(terms))


@lru_cache(maxsize=2)
def subsets(kind: Component) -> tuple[Subsets, ...]:
    """Return all laws of one, two and three terms, with their prior probabilities.

    Every combination of families is as likely as any other, and its mass is shared by its
    members: a family with many members does not crowd out one with few.

    Parameters
    ----------
    kind : {"io", "cpu"}
        Component of the burst.
    """
    families = library(kind).families()
    by_size = [list(combinations(families.values(), k)) for k in range(1, MOST_TERMS + 1)]
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
