"""Draw docs/images/slices.png: how slices lie in a full pod under five strategies."""

from pathlib import Path

from validation.slices import Pod
from validation.slices.plotting import layouts
from validation.slices.study import compare_slices

if __name__ == "__main__":
    study = compare_slices(Pod((4, 4, 4)), "halving", 0.5, disciplines=["FCFS"], count=1000, replications=2)
    target = Path(__file__).parents[1] / "images" / "slices.png"
    layouts(study).savefig(target, dpi=90, bbox_inches="tight")
