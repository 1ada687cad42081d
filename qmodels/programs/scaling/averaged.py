"""The law in the middle of a burst as a `Burst`: its parts as laws and growths of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.arrays import Array, read_only
from qmodels.programs.phases import Burst
from qmodels.programs.scaling.posterior import Posterior
from qmodels.programs.scaling.terms import Library, Part


@dataclass(frozen=True, eq=False)
class AveragedTerms:
    """A sum of library terms with fixed coefficients, seconds."""

    library: Library  #: the terms
    coefficients: Array  #: (terms,)

    def __post_init__(self) -> None:
        read_only(self.coefficients)

    def __call__(self, p: Any, d: Any) -> Array:
        """Seconds on `p` processors and `d` disks that broadcast."""
        p, d = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(d, dtype=float))
        times = self.coefficients @ self.library.values(p.ravel(), d.ravel())
        return np.asarray(times).reshape(p.shape)

    def __str__(self) -> str:
        return f"a sum of {np.count_nonzero(self.coefficients)} averaged terms"


@dataclass(frozen=True, eq=False)
class AveragedLaw:
    """Scaling law h(p, d) = 1 / (the averaged scaling terms)."""

    times: AveragedTerms  #: the averaged scaling terms

    def __call__(self, p: Any, d: Any) -> Array:
        """Return h(p, d)."""
        return 1.0 / self.times(p, d)

    def __str__(self) -> str:
        return f"1 over {self.times}"


def averaged_burst(posterior: Posterior) -> Burst:
    """Return the burst that takes the time of the law in the middle of all, on every allotment.

    Parameters
    ----------
    posterior : Posterior
        Laws of the burst.
    """

    def part(name: Part) -> AveragedTerms:
        chosen = np.array([term.part == name for term in posterior.library.terms])
        return AveragedTerms(posterior.library, np.where(chosen, posterior.centre, 0.0))

    fixed = float(part("sequential")(1.0, 1.0))
    scaling, growing = part("scaling"), part("growth")
    scaled = float(scaling(1.0, 1.0))
    grows = bool(np.any(growing.coefficients > 0))
    return Burst(
        fixed + scaled,
        sequential=fixed,
        law=AveragedLaw(scaling) if scaled > 0 else "1",
        per_processor=1.0 if grows else 0.0,
        growth=growing if grows else "p-1",
    )
