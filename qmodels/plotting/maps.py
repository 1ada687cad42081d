"""Maps of the best policy, drawn over load and variability."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from qmodels.errors import ModelError
from qmodels.plotting.style import GREY, axes_or_new, set_legend, set_title

#: Up to this many cells each one is named.
_NAMED = 150
_SHADES = {"SP": "Blues", "DP": "Oranges", "TS": "Greens"}
#: Letters of what the labels say to an inch of the figure, and points from the axes down to it.
_LETTERS, _BELOW = 14.5, 34.0


@runtime_checkable
class Map(Protocol):
    """Map as it is drawn, as `qmodels.policies.PolicyMap` is one."""

    @property
    def loads(self) -> NDArray[np.float64]:
        """Loads (n,), rising."""

    @property
    def scvs(self) -> NDArray[np.float64]:
        """Squared coefficients of variation (m,), rising."""

    @property
    def best(self) -> NDArray[np.str_]:
        """Labels (m, n); "" for none."""

    @property
    def ties(self) -> Sequence[Sequence[Sequence[str]]]:
        """Labels that may be as good, (m, n) of them."""

    @property
    def meanings(self) -> Sequence[str]:
        """What the labels say, a sentence for each kind of policy."""

    @property
    def objective(self) -> Any:
        """What is small, with a `label`."""

    @property
    def constraints(self) -> Sequence[Any]:
        """Limits that are kept."""


def policy_map(grid: Map, *, ax: Axes | None = None) -> Axes:
    """Draw the best policy at every load and variability of the demand.

    Parameters
    ----------
    grid : PolicyMap
        Such as `best_policies` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Cells are hatched where other policies may be as good, grey where none will do. What the
        labels say stands below.

    Raises
    ------
    ModelError
        If `grid` is no such map.

    Examples
    --------
    >>> from qmodels import Phase, Program, System, Workload
    >>> from qmodels.policies.choice.policy_map import best_policies
    >>> machine, work = System(4, 4), Workload(Program([Phase(io=4.0, cpu=8.0)]))
    >>> policy_map(best_policies(machine, work, loads=[0.2, 0.6], scvs=[1.0])).get_xlabel()
    'load'
    """
    if not isinstance(grid, Map):
        raise ModelError(f"grid must be a PolicyMap, got {type(grid).__name__}")
    m, n = grid.best.shape
    wide = max(6.4, 0.85 * n + 1.5)
    notes = "\n".join(fill(text, round(_LETTERS * wide)) for text in grid.meanings)
    high = max(3.2, 0.5 * m + 1.8) + 0.13 * (notes.count("\n") + 1)
    ax = axes_or_new(ax, figsize=(wide, high))
    colours = _colours(sorted(set(grid.best.ravel().tolist()) - {""}))
    named = grid.best.size <= _NAMED
    tied = False
    for i in range(m):
        for j in range(n):
            label = str(grid.best[i, j])
            unsure = bool(grid.ties[i][j])
            tied |= unsure
            colour = colours.get(label, to_rgb("#dddddd"))
            ax.add_patch(
                Rectangle(
                    (j - 0.5, i - 0.5),
                    1.0,
                    1.0,
                    facecolor=colour,
                    edgecolor="white",
                    hatch="////" if unsure else None,
                    linewidth=0.6,
                )
            )
            if named:
                _name(ax, j, i, label)
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(-0.5, m - 0.5)
    ax.set_xticks(range(n), [f"{load:.3g}" for load in grid.loads])
    ax.set_yticks(range(m), [f"{scv:.3g}" for scv in grid.scvs])
    ax.set_xlabel("load")
    if notes:
        ax.annotate(
            notes,
            (0.0, 0.0),
            xytext=(0.0, -_BELOW),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=7,
            color=GREY,
            parse_math=False,
        )
    ax.set_ylabel("scv of the demand")
    kept = ", ".join(str(limit) for limit in grid.constraints)
    set_title(ax, f"the policy of the least {grid.objective.label}", f"keeping {kept}" if kept else "")
    patches = [Patch(facecolor=colour, label=label) for label, colour in colours.items()]
    if tied:
        patches.append(Patch(facecolor="white", edgecolor=GREY, hatch="////", label="others\ntie"))
    if (grid.best == "").any():
        patches.append(Patch(facecolor="#dddddd", label="none will do"))
    set_legend(ax, handles=patches, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _colours(labels: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """A hue for each kind of policy, a shade for each policy of the kind."""
    result: dict[str, tuple[float, float, float]] = {}
    for kind in sorted({label.partition("(")[0] for label in labels}):
        same = [label for label in labels if label.partition("(")[0] == kind]
        shades = colormaps[_SHADES.get(kind, "Purples")](np.linspace(0.3, 0.8, len(same)))
        result |= {label: to_rgb(shade) for label, shade in zip(same, shades, strict=True)}
    return result


def _name(ax: Axes, x: float, y: float, label: str) -> None:
    """Write the label into its cell, dark on a light plate whatever the cell is."""
    ax.text(
        x,
        y,
        label.replace(";", ";\n") or "-",
        ha="center",
        va="center",
        fontsize=7,
        color="black",
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.6, "alpha": 0.88},
    )
