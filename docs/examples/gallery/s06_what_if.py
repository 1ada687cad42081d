"""
Processors or disks?
====================

The same jobs on larger machines, and what each step of money brings. More in
:doc:`/how-to/what-if`.
"""

import matplotlib.pyplot as plt

from validation import what_if
from validation.study.what_if.advice import spending

found = what_if(
    "../equal-parts.toml",
    over={"processors": [256], "disks": [64], "load": [0.7], "policy": ["SP(2,2)", "SP(4,4)"]},
    prices={"processors": 1.0, "disks": 4.0},
)
steps = spending(found, load=0.7)
for step in steps:
    best = step.cell.best
    print(f"{step.money:+6.0f} {best.label} {best.value:.1f} s {step.verdict}")

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.step([step.money for step in steps], [step.cell.best.value for step in steps], "o-", where="post")
ax.set(xlabel="money beyond today's machine", ylabel="mean response [s]", ylim=(0, None))
