"""Page with sliders over a grid of predictions: what if the machine were another."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.pages.page import page_with_scripts, script_safe

#: Codes of errors on the page: of an answer next to a capacity in doubt, of no answer, and of an
#: answer whose error is not known.
DOUBTFUL, NO_ANSWER, NO_ERROR = 253, 254, 255
#: Characters that a page may have.
MOST_CHARACTERS: Final = 2_000_000
_SCRIPTS: Final = (
    "draw.js",
    "what_if_grid.js",
    "what_if_words.js",
    "what_if_figures.js",
    "what_if_view.js",
)


@dataclass(frozen=True)
class GridAxis:
    """One thing that is varied besides load and policy."""

    name: str  #: as a scenario file has it
    words: str  #: the name as a slider is labelled
    values: tuple[Any, ...]  #: of the slider, in order
    start: int  #: the place of today's value
    counted: bool  #: whether one more of it may have a price
    price: float | None = None  #: of one more; None where none was given


@dataclass(frozen=True)
class GridPolicy:
    """A policy, how it is called and what that means."""

    label: str  #: such as "SP(4,1)"
    kind: str  #: "SP", "DP", ...
    words: str  #: what the label means


@dataclass(frozen=True, eq=False)
class PageGrid:
    """Predictions on a page; machines are the combinations of all axes, the last one fastest.

    Parameters
    ----------
    title : str
        Headline of the page.
    objective, unit : str
        What is predicted, such as "mean response", and its unit.
    axes : sequence of GridAxis
        What sliders vary besides load and policy.
    loads : (n,) array
        Rising; of today's machine.
    start : float
        The load shown first.
    own : float or None
        The load of the job log, if there is one.
    ends : sequence of float
        Shares of its capacity at which each curve has a point of its own.
    policies : sequence of GridPolicy
        The simplest first: of equals the first is named best.
    left : sequence of str
        Labels of policies that come into question and are not on the page.
    values : (machines, policies, n + k) array
        Predicted at the loads, then at the k ends of each curve. NaN where there is no answer.
    errors : (machines, policies, n + k) array
        Relative errors stated for them; infinite where none is known.
    least : (machines, policies, n + k) array
        What values of unknown error are no less than.
    doubtful : (machines, policies, n + k) array of bool
        Whether they are so near to a capacity in doubt that there may be none.
    capacity : (machines, policies) array
        Largest stable load; NaN where the policy does not fit or could not be computed.
    misfits : (machines, policies) array of bool
        Whether the policy does not fit the machine.
    refused : mapping
        Why there is no such machine, by its number.
    machine_axes : sequence of int
        Two axes of the map of machines; fewer for no map.
    other_axis : int or None
        The axis of the map over the load.
    notes : sequence of str
        What the reader has to know of the whole grid.
    table : sequence of rows of text
        Shown where scripts do not run; its first row is the header.
    exact : str
        What is said instead of an error where nothing was approximated.

    Raises
    ------
    ModelError
        If the arrays do not fit each other, or there are more than 253 different errors.
    """

    title: str
    objective: str
    unit: str
    axes: Sequence[GridAxis]
    loads: Array
    start: float
    own: float | None
    ends: Sequence[float]
    policies: Sequence[GridPolicy]
    left: Sequence[str]
    values: Array
    errors: Array
    least: Array
    doubtful: NDArray[np.bool_]
    capacity: Array
    misfits: NDArray[np.bool_]
    refused: Mapping[int, str]
    machine_axes: Sequence[int]
    other_axis: int | None
    notes: Sequence[str]
    table: Sequence[Sequence[str]]
    exact: str = "exact"

    def __post_init__(self) -> None:
        machines = int(np.prod([len(axis.values) for axis in self.axes], dtype=int))
        shape = machines, len(self.policies)
        whole = (*shape, len(self.loads) + len(self.ends))
        for name, wanted in (
            ("values", whole),
            ("errors", whole),
            ("least", whole),
            ("doubtful", whole),
            ("capacity", shape),
            ("misfits", shape),
        ):
            found = np.shape(getattr(self, name))
            if found != wanted:
                raise ModelError(f"{name} has shape {found}, wanted is {wanted}")
        if len(self.loads) < 1 or np.any(np.diff(self.loads) <= 0):
            raise ModelError("loads must rise")


def what_if_page(grid: PageGrid) -> str:
    """Make a page with sliders over a grid of predictions.

    Parameters
    ----------
    grid : PageGrid
        Predictions and what is said of them.

    Returns
    -------
    page : str
        HTML that needs no network: numbers as 32-bit floats in base64, its own scripts and style
        sheet, admitted by their hashes and nothing else. Without scripts it shows a table.

    Raises
    ------
    ModelError
        If it would have more than 2 million characters.

    Examples
    --------
    >>> one = np.ones((1, 1, 2))
    >>> grid = PageGrid(
    ...     title="A study", objective="mean response", unit="s",
    ...     axes=[GridAxis("disks", "disks", (8,), 0, True)], loads=np.array([0.5]), start=0.5,
    ...     own=None, ends=[0.92], policies=[GridPolicy("DP(1)", "DP", "")], left=[], values=one,
    ...     errors=0.1 * one, least=one, doubtful=one < 0, capacity=one[:, :, 0],
    ...     misfits=one[:, :, 0] < 0, refused={}, machine_axes=[], other_axis=None, notes=[],
    ...     table=[["load"], ["0.5"]])
    >>> page = what_if_page(grid)
    >>> page.count("<script"), page.count("<h1>What if: A study</h1>")
    (6, 1)
    """
    page = page_with_scripts(
        "what_if.html.j2",
        scripts=_SCRIPTS,
        styles=("live.css",),
        grid=grid,
        data=Markup(script_safe(_data(grid))),
    )
    if len(page) > MOST_CHARACTERS:
        raise ModelError(
            f"the page would have {len(page) / 1e6:.1f} million characters, at most "
            f"{MOST_CHARACTERS / 1e6:.0f}; give fewer values or policies"
        )
    return page


def _data(grid: PageGrid) -> dict[str, Any]:
    known = np.isfinite(grid.values)
    stated = np.unique(grid.errors[known & np.isfinite(grid.errors)])
    if stated.size > DOUBTFUL:
        raise ModelError(f"{stated.size} different errors; at most {DOUBTFUL}")
    codes = np.full(grid.values.shape, NO_ANSWER, dtype=np.uint8)
    sure = known & np.isfinite(grid.errors)
    codes[known] = np.where(grid.doubtful[known], DOUBTFUL, NO_ERROR)
    codes[sure] = np.searchsorted(stated, grid.errors[sure])
    return {
        "objective": grid.objective,
        "unit": grid.unit,
        "exact": grid.exact,
        "axes": [
            {
                "name": axis.name,
                "words": axis.words,
                "values": list(axis.values),
                "start": axis.start,
                "counted": axis.counted,
                "price": axis.price,
            }
            for axis in grid.axes
        ],
        "loads": [float(load) for load in grid.loads],
        "load": grid.start,
        "own": grid.own,
        "ends": list(grid.ends),
        "policies": [vars(policy) for policy in grid.policies],
        "left": list(grid.left),
        "errors": stated.tolist(),
        "values": _floats(np.where(known, grid.values, 0.0)),
        "capacity": _floats(np.nan_to_num(grid.capacity, nan=0.0)),
        "least": _floats(np.nan_to_num(grid.least[codes == NO_ERROR], nan=0.0)),
        "codes": base64.b64encode(codes.tobytes()).decode("ascii"),
        "misfits": np.flatnonzero(grid.misfits).tolist(),
        "refused": {str(place): text for place, text in grid.refused.items()},
        "machineAxes": list(grid.machine_axes),
        "otherAxis": grid.other_axis,
    }


def _floats(values: Array) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")
