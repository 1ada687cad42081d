"""
A sweep that goes on where it was ended
=======================================

Run it twice: what the journal holds is not computed again. More in :doc:`/how-to/run-a-campaign`.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from validation.study.sweep import plan_sweep, run_sweep

axes = {"policy": ["SP(1,1)", "SP(4,4)", "SP(8,8)"], "load": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}
plan = plan_sweep("../equal-parts.toml", axes)
with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):
        done = run_sweep(plan, Path(folder) / "sweep.journal", workers=1)
table = done.to_frame().pivot(index="load", columns="policy", values="mean_response")
print(table.round(1))

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
table.plot(ax=ax, marker="o", ylabel="mean response [s]")
