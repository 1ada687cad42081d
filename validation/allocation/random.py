"""Random: any free nodes, each set of them as likely as another. The reference for dispersal."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Ints
from qmodels.errors import ModelError
from validation.allocation.base import Free, GridStrategy, Request, register


@register
class Random(GridStrategy):
    """Draws the nodes without replacement.

    Parameters
    ----------
    rng : numpy.random.Generator, optional
        Where the draws come from; by default a fresh generator with seed 0, so that two
        strategies made without it answer alike. Choosing advances it.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> len(Random().choose(Mesh(4, 4), 5))
    5
    """

    name = "Random"

    def __init__(self, *, rng: np.random.Generator | None = None) -> None:
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise ModelError(f"rng must be a numpy random Generator, got {rng!r:.60}")
        self.rng = np.random.default_rng(0) if rng is None else rng

    def fresh(self, rng: np.random.Generator) -> Random:
        """See `AbstractStrategy.fresh`."""
        return Random(rng=rng)

    def places(self, free: Free, request: Request) -> Ints:
        """See `GridStrategy.places`."""
        return self.rng.choice(np.flatnonzero(free), request.size, replace=False)
