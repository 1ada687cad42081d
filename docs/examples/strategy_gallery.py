"""Draw docs/images/strategies.png and boxes.png: the same jobs under every strategy, and in 3-D."""

from pathlib import Path

from matplotlib.figure import Figure

from validation.allocation import TFF, Hilbert
from validation.allocation.plotting import gallery, job_stack
from validation.analysis.seeding import stream
from validation.jobs import BoxStreams
from validation.machine import Machine, play
from validation.mesh import Mesh

IMAGES = Path(__file__).resolve().parents[1] / "images"


def stacks() -> Figure:
    """The same jobs under TFF and along the Hilbert curve, at one time."""
    jobs = BoxStreams(mean_interarrival=4.0, within=(5, 5, 5), jobs=150)
    drawn = jobs.draw(rng=stream(5, "gallery"))
    figure = Figure(figsize=(8.4, 8.0), layout="constrained")
    for ax, strategy in zip(figure.subplots(1, 2), (TFF(), Hilbert()), strict=True):
        machine = Machine(mesh=Mesh.of_sides((8, 8, 6)), strategy=strategy, network="none")
        [held] = play(machine, drawn).mesh_at([250.0])
        job_stack(held, ax=ax)
        busy = 1 - held.free / held.nodes
        ax.set_title(f"{strategy.name}: {len(held.jobs)} jobs, {busy:.0%} busy", fontsize=10)
    return figure


if __name__ == "__main__":
    for name, figure in (("strategies.png", gallery()), ("boxes.png", stacks())):
        figure.savefig(IMAGES / name, dpi=110)
        print(f"wrote {name}")
