"""Draw docs/images/malleable.png: what SP, DP and TS answer beside policies that may move processors.

Run ``python docs/examples/malleable_loads.py LOG`` from the root of the project, LOG being the job log that
docs/examples/paragon.toml names; some minutes.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from qmodels import System, UnstableError, Workload, predict
from qmodels.io.scenario import load_scenario
from qmodels.plotting.style import BLUE, GREEN, GREY, ORANGE, PURPLE, set_legend_below, set_plain_log_ticks
from qmodels.policies import default_candidates
from qmodels.policies.base import work_bound
from qmodels.programs import Burst, Phase, Program
from validation.malleable.worth import unrunnable

EXAMPLES = Path(__file__).resolve().parent
LOADS = (0.2, 0.35, 0.5, 0.65)
KINDS = {"SP": BLUE, "DP": GREEN, "TS": ORANGE}
BEYOND = (GREY, PURPLE)


def reference() -> tuple[System, Workload]:
    """Return machine and workload W* of the paper: demand of scv 2, Poisson arrivals."""
    cpu = Burst(2.2 * 512.1, sequential=2.2 * 0.1, slowdown=(8, 2.2), law="p")
    program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=cpu)])
    machine = System(processors=128, disks=32, min_processors=8)
    return machine, Workload.from_scv(program, demand_scv=2.0)


def best_of(kind: str, machine: System, work: Workload, load: float) -> float:
    """Return the least mean response of the policies of a kind, NaN where none carries the load."""
    answers = []
    for policy in default_candidates(machine):
        if policy.name == kind:
            try:
                answers.append(predict(policy, machine, work, load=load).mean_response)
            except UnstableError:
                continue
    return min(answers, default=float("nan"))


def main(log: str) -> None:
    """Draw both panels and print their numbers."""
    plan = load_scenario(EXAMPLES / "paragon.toml", settings={"log.path": str(Path(log).resolve())})
    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    panels = {"W* (128 processors)": reference(), "Paragon (352 processors)": (plan.system, plan.workload)}
    for ax, (title, (machine, work)) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        bound = work_bound(machine, work.program)
        for kind, colour in KINDS.items():
            means = [best_of(kind, machine, work, load) for load in LOADS]
            ax.plot(LOADS, means, color=colour, marker="o", ms=4, label=f"best {kind}, predicted")
            print(title, kind, *(f"{mean:.4g}" for mean in means))
        runs = [unrunnable(machine, work, load * bound, replications=25, jobs=1200, seed=1) for load in LOADS]
        for each, colour in zip(zip(*runs, strict=True), BEYOND, strict=True):
            known = [run.mean_response for run in each]
            means = np.array([np.nan if run is None else run.mean for run in known])
            halves = np.array([np.nan if run is None else run.half_width for run in known])
            label = f"{each[0].policy}, simulated"
            ax.errorbar(LOADS, means, halves, color=colour, marker="s", ms=4, capsize=2, label=label)
            print(title, label, *(f"{m:.4g}+-{h:.2g}" for m, h in zip(means, halves, strict=True)))
        ax.set(title=title, xlabel="load", ylabel="mean response [s]", yscale="log")
        set_plain_log_ticks(ax)
        set_legend_below(ax, lines=2)
    target = EXAMPLES.parent / "images" / "malleable.png"
    figure.savefig(target, dpi=110)
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main(sys.argv[1])
