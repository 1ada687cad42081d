"""Draw docs/images/fluid-error.png: how far the cluster's fluid model is from exact answers."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from phasefit import PhaseType
from qmodels.networks import fcfs_node_pace, shared_node_paces
from qmodels.plotting.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from validation.cluster import fluid_paces

TASKS = np.arange(1, 21)
COLOURS = (BLUE, GREEN, ORANGE, RED, PURPLE)


def error(demands: np.ndarray) -> np.ndarray:
    """Relative errors of the paces of tasks that share one node, in per cent."""
    exact = shared_node_paces(np.ones(demands.size), demands)
    return 100.0 * (fluid_paces(demands) / exact - 1.0)


def main() -> None:
    """Draw the three panels."""
    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    alike, unlike, regular = figure.subplots(1, 3)
    for demand, colour in zip((1.0, 2.0, 5.0, 14.4, 40.0), COLOURS, strict=True):
        errors = [error(np.full(n, demand))[0] for n in TASKS]
        alike.plot(TASKS, errors, color=colour, marker="o", ms=3, label=f"{demand:g} s of disk")
    alike.set(title="tasks alike", ylabel="error of the pace [%]")
    rng = np.random.default_rng(1)
    for _ in range(25):
        for n in (2, 3, 4, 6, 8, 12, 16, 20):
            demands = 30.0 * rng.random(n) * (rng.random(n) > 0.1)
            errors, total = error(demands), demands > 0
            unlike.plot(np.full(n, n)[total], errors[total], ".", ms=3, color=BLUE, alpha=0.3)
            unlike.plot(np.full(n, n)[~total], errors[~total], ".", ms=4, color=RED, alpha=0.7)
    unlike.plot([], [], ".", color=BLUE, label="0 to 30 s of disk")
    unlike.plot([], [], ".", color=RED, label="none")
    unlike.set(title="tasks that differ")
    for phases, colour in zip((1, 2, 10), (GREY, GREEN, ORANGE), strict=True):
        law = PhaseType.erlang(phases=phases, mean=2.0)
        errors = [
            100.0 * (fluid_paces(np.full(n, 2.0))[0] / fcfs_node_pace(int(n), 1.0, law) - 1.0) for n in TASKS
        ]
        label = f"scv of an access {1 / phases:g}"
        regular.plot(TASKS, errors, color=colour, marker="o", ms=3, label=label)
    regular.set(title="disk in turn, 2 s, tasks alike")
    for ax in (alike, unlike, regular):
        ax.axhline(0.0, color="#444444", lw=0.8)
        ax.set_xlabel("tasks on the node")
        ax.legend(fontsize=8)
    target = Path(__file__).resolve().parents[1] / "images" / "fluid-error.png"
    figure.savefig(target, dpi=110)
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
