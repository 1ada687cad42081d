"""Verdicts that several figures share, and the numbers that the paper prints in its text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from validation.analysis.comparison import Comparison
from validation.papers.bani_mohammad.campaign import Campaign
from validation.papers.bani_mohammad.setup import Cell
from validation.papers.base import Finding, all_better, published_table


@lru_cache(maxsize=1)
def published() -> dict[tuple[str, str], float]:
    """The printed numbers, by figure and load ("" where the text names none)."""
    table = published_table("bani_mohammad.csv", dtype=str, keep_default_na=False)
    columns = (table[name] for name in ("figure", "subject", "load", "value"))
    return {(f"{figure} {of}", load): float(value) for figure, of, load, value in zip(*columns, strict=True)}


def everywhere(
    found: Campaign,
    claim: str,
    sentence: str,
    pairs: Iterable[tuple[str, Cell, Cell]],
    quantity: str = "turnaround",
) -> Finding:
    """A sentence that the first cell of each pair does better in a quantity than the second.

    Parameters
    ----------
    found : Campaign
    claim, sentence : str
        See `Finding`.
    pairs : iterable of (str, Cell, Cell)
        Where, in words, and the two cells.
    quantity : str
        Of `KEPT`; less is better, but more of what is used and of what runs.

    Returns
    -------
    Finding
        It holds if every pair is decided as said, fails if one is decided otherwise.
    """
    compared = [(where, found.compare(cell, other, quantity, relative=True)) for where, cell, other in pairs]
    return Finding(claim, sentence, all_better(comparison for _, comparison in compared), tally(compared))


def tally(compared: Iterable[tuple[str, Comparison]]) -> str:
    """How many of some comparisons are better, worse and undecided, and where not better."""
    found = list(compared)
    words = [comparison.verdict for _, comparison in found]
    rest = [f"{where} {c.interval}" for where, c in found if c.verdict != "better"]
    counts = ", ".join(
        f"{words.count(word)} {word}" for word in ("better", "worse", "undecided") if word in words
    )
    return f"{counts}{'; not better: ' + '; '.join(rest) if rest else ''}"
