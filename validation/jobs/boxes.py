"""Streams of jobs that ask for boxes of a 3-D mesh, as in the papers on contiguous allocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Ints
from phasefit.checks import check_fields, one_of, real_number
from validation.jobs.bounded_pareto import BoundedPareto
from validation.jobs.stream import (
    USUAL_UTILISATION,
    AbstractStreams,
    JobStream,
    Setting,
    TableError,
    arrivals_of,
    checked_law,
    drawn_demands,
    job_count,
    register,
    renamed,
    spawned,
    wanted_utilisation,
)
from validation.mesh import Sides

#: How the sides of a box are drawn.
SideLaw = Literal["uniform", "exponential", "near-cubic"]
SIDE_LAWS: Final = get_args(SideLaw)
#: The demand of [1]_ in `BoxStreams`.
HEAVY_TAILED: Final = BoundedPareto(low=15.0, high=4241.0, shape=1.0)
#: Laws of the demand by name, of equal means.
DEMANDS: Final[Mapping[str, Any]] = {
    "pareto": HEAVY_TAILED,
    "exponential": PhaseType.exponential(mean=HEAVY_TAILED.mean),
}


@register
@dataclass(frozen=True, kw_only=True)
class BoxStreams(AbstractStreams):
    """Boxes with random sides, at the times of a Poisson process.

    The synthetic workload of [1]_, section 5. The first job arrives at 0.

    Parameters
    ----------
    mean_interarrival : float
        Mean time between arrivals, > 0, in the machine's unit.
    within : Sides or sequence of int
        Sides of the machine: x, y and z, or rows and columns; see `validation.mesh.Sides`.
    jobs : int
        Jobs of a stream, at least one.
    sides : {"uniform", "exponential", "near-cubic"}
        Law of the sides, see Notes.
    demand : PhaseType, BoundedPareto or frozen scipy.stats law, optional
        Law of the demands, by default the bounded Pareto law of [1]_: anything with
        ``rvs(size=, random_state=)`` whose values are > 0. With None the streams have no demands.

    Raises
    ------
    ModelError
        If a parameter is out of its range; from `draw`, if the demand gives values <= 0.

    Notes
    -----
    With L the side of the machine along x, y or z:

    - "uniform": each side on its own, 1 to L alike, as in [1]_;
    - "exponential": each on its own, exponential with mean L / 2, rounded up and cut off at L by
      drawing anew: P(k) is proportional to exp(-2 k / L);
    - "near-cubic": one number, 1 to the shortest L alike, plus -1, 0 or 1 for each side, kept
      within 1 and L.

    Gaps, sides and demands have generators of their own: another `mean_interarrival` gives the
    same jobs and the same gaps up to scale, another demand the same boxes.

    References
    ----------
    .. [1] S. Bani-Mohammad, M. Ould-Khaoua, I. Ababneh, L. M. Mackenzie, "A performance comparison
       of the contiguous allocation strategies in 3D mesh connected multicomputers", *LNCS* 4742
       (2007) 645-656.

    Examples
    --------
    >>> streams = BoxStreams(mean_interarrival=20.0, within=(8, 8, 8), jobs=2)
    >>> streams.draw(rng=np.random.default_rng(1)).shapes
    ((8, 4, 2), (5, 8, 2))
    """

    name: ClassVar[str] = "boxes"
    keys: ClassVar[tuple[str, ...]] = (
        "count",
        "mean_interarrival",
        "utilisation",
        "sides",
        "demand",
    )
    mean_interarrival: float
    within: Sides
    jobs: int = 1000
    sides: SideLaw = "uniform"
    demand: Any = HEAVY_TAILED

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", job_count(self.jobs))
        check_fields(self, real_number, "mean_interarrival", above=0.0)
        if not isinstance(self.within, Sides):
            object.__setattr__(self, "within", Sides.of(*self.within))
        one_of("sides", self.sides, SIDE_LAWS)
        checked_law("demand", self.demand)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], setting: Setting) -> tuple[AbstractStreams, float | None]:
        """See `AbstractStreams.from_table`; without a network demands are heavy-tailed."""
        if setting.sides is None:
            raise TableError("source", "boxes need the sides of a mesh")
        arguments = renamed(table, count="jobs", sides="sides")
        named = table.get("demand", "pareto" if setting.timed else None)
        if named is not None:
            arguments["demand"] = DEMANDS[one_of("demand", named, DEMANDS)]
        else:
            arguments["demand"] = None
        gap = table.get("mean_interarrival", 1.0)
        made = cls(mean_interarrival=gap, within=setting.sides, **arguments)
        return made, wanted_utilisation(table, USUAL_UTILISATION)

    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """See `AbstractStreams.draw`."""
        for_gaps, for_sides, for_demands = spawned(rng, 3)
        boxes = self._box_sides(for_sides)
        return JobStream(
            arrivals=arrivals_of(for_gaps.standard_exponential(self.jobs - 1), self.mean_interarrival),
            sizes=boxes.prod(axis=1),
            demands=drawn_demands(self.demand, self.jobs, for_demands),
            shapes=tuple(map(tuple, boxes.tolist())),
        )

    def _box_sides(self, rng: np.random.Generator) -> Ints:
        """Sides x, y, z of every job, (jobs, 3)."""
        most = np.array(self.within)
        if self.sides == "uniform":
            return np.asarray(rng.integers(1, most + 1, (self.jobs, 3)))
        if self.sides == "near-cubic":
            # Two draws for each job, whatever their number: more jobs begin with the fewer.
            for_size, for_shape = rng.spawn(2)
            side = for_size.integers(1, most.min() + 1, self.jobs)
            near = side[:, None] + for_shape.integers(-1, 2, (self.jobs, 3))
            return np.asarray(np.clip(near, 1, most))
        # By inversion of the law that is cut off at the longest side.
        u = rng.random((self.jobs, 3))
        sides = np.ceil(-0.5 * most * np.log1p(u * np.expm1(-2.0)))
        clipped: Ints = np.clip(sides, 1, most).astype(np.int64)
        return clipped
