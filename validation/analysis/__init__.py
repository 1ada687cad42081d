"""Seeds, intervals and comparisons: what every simulator asks of statistics."""

from validation.analysis.estimates import Estimate, estimate, replicate, until_precise
from validation.analysis.seeding import stream

__all__ = ["Estimate", "estimate", "replicate", "stream", "until_precise"]
