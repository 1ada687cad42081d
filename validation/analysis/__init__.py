"""Seeds, intervals and comparisons: what every simulator asks of statistics."""

from validation.analysis.alternatives import Alternatives, Quantity, Replications
from validation.analysis.comparison import Comparison, compare
from validation.analysis.estimates import Estimate, estimate, jackknife, replicate, until_precise
from validation.analysis.seeding import stream, word

__all__ = [
    "Alternatives",
    "Comparison",
    "Estimate",
    "Quantity",
    "Replications",
    "compare",
    "estimate",
    "jackknife",
    "replicate",
    "stream",
    "until_precise",
    "word",
]
