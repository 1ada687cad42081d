"""Sentences on a comparison of the same jobs; a difference within its interval is none."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qmodels.words import plain_number
from validation.analysis.comparison import Comparison
from validation.analysis.estimates import Estimate


def estimated(known: Estimate | Comparison) -> str:
    """Return a mean to the digits that its interval leaves, with that to two.

    Parameters
    ----------
    known : Estimate or Comparison
        Without an interval, of one run, three digits.

    Examples
    --------
    >>> from validation.analysis.estimates import estimate
    >>> estimated(estimate([1.0, 1.1, 1.3])), estimated(estimate([1.234567]))
    ('1.13 ± 0.38', '1.23')
    """
    if not (np.isfinite(known.half_width) and known.half_width > 0.0):
        return plain_number(known.mean, 3)
    after = max(0, 1 - math.floor(math.log10(known.half_width)))
    return f"{known.mean:,.{after}f} ± {known.half_width:,.{after}f}"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    Parameters
    ----------
    names : sequence of str
        At least one.

    Examples
    --------
    >>> listed(["MC"]), listed(["MC", "MBS", "PLAS"])
    ('MC', 'MC, MBS and PLAS')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def legend(alternative: object) -> str:
    """Return what a strategy or a balancer does: the first line of its class.

    Parameters
    ----------
    alternative : object
        An entry of a registry, or one of the user's own.
    """
    return (inspect.getdoc(type(alternative)) or "no word is said of it").splitlines()[0].replace("`", "")


def means_in_words(found: Any, quantity: str) -> str:
    """Return the means of a figure, the least first, in words.

    Parameters
    ----------
    found : comparison
        As for `standings`.
    quantity : str
        Of which less is better.
    """
    said = [f"{name} {estimated(found.runs[name][quantity])}" for name in found.ranked(quantity)]
    return f"Mean {quantity} under each {found.kind}, the least first: {', '.join(said)}."


def same_jobs(kinds: str) -> str:
    """Return what to know of a table whose last column is `against`.

    Parameters
    ----------
    kinds : str
        Whose rows they are, such as "balancers".
    """
    return (
        f"All {kinds} got the same jobs, so that the last column, of paired differences, tells more than "
        f"the intervals beside the means."
    )


def standings(
    found: Any, quantity: str, takes: Callable[[Estimate], str], unit: Callable[[str], str]
) -> list[str]:
    """Return which alternative does best, which cannot be told from it, and how far behind the last is.

    Parameters
    ----------
    found : comparison
        With `runs`, `best`, `leaders` and `compare`, such as a `StrategyComparison`.
    quantity : str
        Of which less is better.
    takes : callable
        What a job takes under an alternative, by its estimate: "a job takes 3 s".
    unit : callable
        A number of the quantity with its unit.

    Returns
    -------
    list of str
        Sentences.
    """
    best, runs = found.best(quantity), found.runs
    first, replications = f"Under {best} {takes(runs[best][quantity])}", runs[best].replications
    level = [name for name in found.leaders(quantity) if name != best]
    if len(runs) > 1:
        first += f", the least of {len(runs)}"
    if level and replications > 1:
        first += f"; {listed(level)} cannot be told from it in {replications} runs"
    said = [f"{first}."]
    others = [name for name in runs if name != best and name not in level]
    if replications == 1 and len(runs) > 1:
        said.append("These jobs were run once: how sure the order is is not known.")
    elif others:
        worst = max(others, key=lambda name: runs[name][quantity].mean)
        gap = found.compare(worst, best, quantity)
        said.append(
            f"Under {worst} it is {unit(estimated(runs[worst][quantity]))}, by paired differences "
            f"{estimated(gap)} more."
        )
    return said


def against(found: Any, name: str, quantity: str) -> str:
    """Return what an alternative costs more than the best, by paired differences.

    Parameters
    ----------
    found : comparison
        As for `standings`.
    name : str
        Of the alternative.
    quantity : str
        Of which less is better.

    Returns
    -------
    str
        For a cell of a table.
    """
    best = found.best(quantity)
    if name == best:
        return "best"
    gap = found.compare(name, best, quantity)
    decided = gap.verdict != "undecided" or not np.isfinite(gap.half_width)
    return estimated(gap) if decided else f"{estimated(gap)}, undecided"
